# One device with given residents: the throughput problem, operator by operator. Mathematics: device.md.
# Every figure is a whole number: times in one unit, bytes in one unit, values in one unit.

param repeat, binary;                 # 1: the plan repeats for ever; 0: it runs once
param H, integer, >= 1;               # main iterations that a plan spans
param bubbles, integer, >= 0;
param usable{1..bubbles}, >= 0;       # ticks after the guard
param free{1..bubbles}, >= 0;         # bytes for fill work
param resident_free, >= 0;            # bytes between the bubbles
param enter, >= 0;
param leave, >= 0;

set SLOT;
param length{SLOT}, integer, >= 1;    # operators of the chain, 0 to length - 1
set OPERATOR{s in SLOT} := 0..length[s] - 1;
set STATE{s in SLOT} := 0..length[s]; # the next operator; `length`: nothing done yet, nothing carried
param keep{SLOT}, binary;
param ticks{s in SLOT, OPERATOR[s]}, >= 1;
param memory{s in SLOT, OPERATOR[s]}, >= 0;
param worth{s in SLOT, OPERATOR[s]}, >= 0;
param holds{s in SLOT, STATE[s]}, >= 0;     # resident + carried bytes
param resident{s in SLOT}, >= 0;
param into{s in SLOT, STATE[s]}, default 0; # ticks of a move in, a move out
param out{s in SLOT, STATE[s]}, default 0;
param between{SLOT, SLOT}, default 0;

# From which states a slot may run; its operator there, its state afterwards.
set RUN{s in SLOT} := if repeat then OPERATOR[s] else STATE[s];
param operator{s in SLOT, p in STATE[s]} := p mod length[s];
param after{s in SLOT, p in STATE[s]} := (p + 1) mod length[s];

# Occurrences, and the most operators that fit each.
set OCCURRENCE := 1..H * bubbles;
param bubble{o in OCCURRENCE} := (o - 1) mod bubbles + 1;
param net{o in OCCURRENCE} := usable[bubble[o]] - enter - leave;
param shortest := min{s in SLOT, i in OPERATOR[s]} ticks[s, i];
param steps{o in OCCURRENCE} := if card(SLOT) = 0 or net[o] < shortest then 0 else floor(net[o] / shortest);
set STEP := setof{o in OCCURRENCE, k in 1..steps[o]} (o, k);
set SWAPPED := setof{s in SLOT: not keep[s]} s;
param most{s in SLOT} := max{p in STATE[s]} holds[s, p];
param most_into{s in SLOT} := max{p in STATE[s]} into[s, p];
param most_out{s in SLOT} := max{p in STATE[s]} out[s, p];
param excess{o in OCCURRENCE} := max(0, sum{s in SLOT} most[s] - free[bubble[o]]);

var x{(o, k) in STEP, s in SLOT, RUN[s]}, binary;                     # step k of o: slot s runs the operator at its state
var first{s in SLOT, STATE[s]}, binary;                               # where it stands at the beginning
var y{o in OCCURRENCE, k in 0..steps[o], s in SLOT, STATE[s]}, >= 0;  # where it stands after step k
var u{(o, k) in STEP, s in SLOT}, >= 0;                               # it runs in step k
var change{(o, k) in STEP, s in SLOT, t in SLOT: s <> t}, >= 0;                         # in step k one slot follows another
var visit{OCCURRENCE, SWAPPED}, binary;                               # a swapped slot runs in o
var begun{(o, k) in STEP, SWAPPED}, >= 0, <= 1;                       # by step k
var due{(o, k) in STEP, SWAPPED}, >= 0, <= 1;                         # in step k or later
var moving{OCCURRENCE, SWAPPED}, >= 0;                                # ticks of both moves
var held{(o, k) in STEP, SLOT}, >= 0;                                 # bytes of a slot that is in and does not run

maximize value: sum{(o, k) in STEP, s in SLOT, p in RUN[s]} worth[s, operator[s, p]] * x[o, k, s, p];

s.t. begins{s in SLOT}: sum{p in STATE[s]: repeat or p = length[s]} first[s, p] = 1;
s.t. nowhere_else{s in SLOT, p in OPERATOR[s]: not repeat}: first[s, p] = 0;
s.t. goes_on{o in OCCURRENCE, s in SLOT, p in STATE[s]}:
  y[o, 0, s, p] = if o = 1 then first[s, p] else y[o - 1, steps[o - 1], s, p];
s.t. moves{(o, k) in STEP, s in SLOT, p in STATE[s]}:
  y[o, k, s, p] = y[o, k - 1, s, p]
    + sum{q in RUN[s]: after[s, q] = p} x[o, k, s, q] - sum{q in RUN[s]: q = p} x[o, k, s, q];
s.t. stands{(o, k) in STEP, s in SLOT, p in RUN[s]}: x[o, k, s, p] <= y[o, k - 1, s, p];
s.t. cycle{s in SLOT, p in STATE[s]: repeat and card(OCCURRENCE) > 0}:
  y[H * bubbles, steps[H * bubbles], s, p] = first[s, p];

s.t. runs{(o, k) in STEP, s in SLOT}: u[o, k, s] = sum{p in RUN[s]} x[o, k, s, p];
s.t. one_at_a_time{(o, k) in STEP}: sum{s in SLOT} u[o, k, s] <= 1;
s.t. no_gap{(o, k) in STEP: k > 1}: sum{s in SLOT} u[o, k, s] <= sum{s in SLOT} u[o, k - 1, s];
s.t. follows{(o, k) in STEP, s in SLOT, t in SLOT: k > 1 and s <> t}:
  change[o, k, s, t] >= u[o, k - 1, s] + u[o, k, t] - 1;

s.t. visits{(o, k) in STEP, s in SWAPPED}: visit[o, s] >= u[o, k, s];
s.t. move_ticks{o in OCCURRENCE, s in SWAPPED}:
  moving[o, s] >= sum{p in STATE[s]} (into[s, p] * y[o, 0, s, p] + out[s, p] * y[o, steps[o], s, p])
    - (most_into[s] + most_out[s]) * (1 - visit[o, s]);
s.t. fit{o in OCCURRENCE: steps[o] > 0}:
  sum{k in 1..steps[o], s in SLOT, p in RUN[s]} ticks[s, operator[s, p]] * x[o, k, s, p]
  + sum{k in 2..steps[o], s in SLOT, t in SLOT: s <> t} between[s, t] * change[o, k, s, t]
  + sum{s in SWAPPED} moving[o, s] <= net[o];

s.t. has_begun{(o, k) in STEP, s in SWAPPED}: begun[o, k, s] >= u[o, k, s];
s.t. stays_begun{(o, k) in STEP, s in SWAPPED: k > 1}: begun[o, k, s] >= begun[o, k - 1, s];
s.t. is_due{(o, k) in STEP, s in SWAPPED}: due[o, k, s] >= u[o, k, s];
s.t. stays_due{(o, k) in STEP, s in SWAPPED: k < steps[o]}: due[o, k, s] >= due[o, k + 1, s];
s.t. kept_holds{(o, k) in STEP, s in SLOT: keep[s]}:
  held[o, k, s] >= sum{p in STATE[s]} holds[s, p] * y[o, k - 1, s, p] - most[s] * u[o, k, s];
s.t. swapped_holds{(o, k) in STEP, s in SWAPPED: k > 1 and k < steps[o]}:
  held[o, k, s] >= sum{p in STATE[s]} holds[s, p] * y[o, k - 1, s, p] - most[s] * u[o, k, s]
    - most[s] * (2 - begun[o, k - 1, s] - due[o, k + 1, s]);
s.t. fits_memory{(o, k) in STEP}:
  sum{s in SLOT, p in RUN[s]} (resident[s] + memory[s, operator[s, p]]) * x[o, k, s, p] + sum{s in SLOT} held[o, k, s]
  <= free[bubble[o]] + excess[o] * (1 - sum{s in SLOT} u[o, k, s]);

s.t. rests_at_first: sum{s in SLOT, p in STATE[s]: keep[s]} holds[s, p] * first[s, p] <= resident_free;
s.t. rests{o in OCCURRENCE}:
  sum{s in SLOT, p in STATE[s]: keep[s]} holds[s, p] * y[o, steps[o], s, p] <= resident_free;

solve;
end;
