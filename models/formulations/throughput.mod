# The whole throughput problem of a small instance: every device written out, residents chosen. Mathematics: throughput.md.
# Every figure is a whole number: times in one unit, bytes in one unit, values in one unit.

param repeat, binary;                 # 1: the plan repeats for ever; 0: it runs once
param H, integer, >= 1;               # main iterations that a plan spans
param enter, >= 0;
param leave, >= 0;

set JOB;
param copies{JOB}, integer, >= 0;
param keep{JOB}, binary;
param between{JOB, JOB}, default 0;
set KIND;                 # a job in one of its configurations
param job{KIND}, symbolic, in JOB;
param length{KIND}, integer, >= 1;    # operators of the chain, 0 to length - 1
set OPERATOR{c in KIND} := 0..length[c] - 1;
set STATE{c in KIND} := 0..length[c]; # the next operator; `length`: nothing done yet, nothing carried
param memory{c in KIND, OPERATOR[c]}, >= 0;
param worth{c in KIND, OPERATOR[c]}, >= 0;
param resident{KIND}, >= 0;
param holds{c in KIND, STATE[c]}, >= 0;     # resident + carried bytes
param into{c in KIND, STATE[c]}, default 0; # ticks of a move in, a move out
param out{c in KIND, STATE[c]}, default 0;

set CLASS;
param bubbles{CLASS}, integer, >= 0;
param usable{g in CLASS, 1..bubbles[g]}, >= 0; # ticks after the guard
param free{g in CLASS, 1..bubbles[g]}, >= 0;   # bytes for fill work
param resident_free{CLASS}, >= 0;              # bytes between the bubbles
param ticks{CLASS, c in KIND, OPERATOR[c]}, >= 1;
set DEVICE;
param class{DEVICE}, symbolic, in CLASS;

# The copies that may live on a device: (kind, number).
set MAY within {CLASS, KIND};
set PLACE := setof{d in DEVICE, (g, c) in MAY, n in 1..copies[job[c]]: g = class[d]} (d, c, n);
set RUN{c in KIND} := if repeat then OPERATOR[c] else STATE[c];
param operator{c in KIND, p in STATE[c]} := p mod length[c];
param after{c in KIND, p in STATE[c]} := (p + 1) mod length[c];

# Occurrences of each device, and the most operators that fit each.
set VISITABLE := setof{d in DEVICE, o in 1..H * bubbles[class[d]]} (d, o);
param bubble{(d, o) in VISITABLE} := (o - 1) mod bubbles[class[d]] + 1;
param net{(d, o) in VISITABLE} := usable[class[d], bubble[d, o]] - enter - leave;
param many := 1000000000;
param shortest{d in DEVICE} := min(many, min{(g, c) in MAY, i in OPERATOR[c]} if g = class[d] then ticks[g, c, i] else many);
param steps{(d, o) in VISITABLE} := if net[d, o] < shortest[d] then 0 else floor(net[d, o] / shortest[d]);
set STEP := setof{(d, o) in VISITABLE, k in 1..steps[d, o]} (d, o, k);
set AT := setof{(d, o, k) in STEP, (d, c, n) in PLACE} (d, o, k, c, n);
set SWAPPED := setof{(d, c, n) in PLACE: not keep[job[c]]} (d, c, n);
set SWAP := setof{(d, o, k, c, n) in AT: not keep[job[c]]} (d, o, k, c, n);
set VISIT := setof{(d, o) in VISITABLE, (d, c, n) in SWAPPED} (d, o, c, n);
set CHANGE := setof{(d, o, k, c, n) in AT, (d, a, m) in PLACE: k > 1 and (a <> c or m <> n)} (d, o, k, a, m, c, n);
param most{c in KIND} := max{p in STATE[c]} holds[c, p];
param most_move{c in KIND} := max{p in STATE[c]} into[c, p] + max{p in STATE[c]} out[c, p];
param excess{(d, o) in VISITABLE} := max(0, sum{(d, c, n) in PLACE} most[c] - free[class[d], bubble[d, o]]);

var lives{PLACE}, binary;                                               # this copy lives here
var first{(d, c, n) in PLACE, STATE[c]}, binary;                        # where it stands at the beginning
var x{(d, o, k, c, n) in AT, RUN[c]}, binary;                           # step k of o: it runs the operator at its state
var y{(d, o) in VISITABLE, k in 0..steps[d, o], (d, c, n) in PLACE, STATE[c]}, >= 0; # where it stands after step k
var u{AT}, >= 0;                                                        # it runs in step k
var change{CHANGE}, >= 0;                                               # in step k it follows another one
var visit{VISIT}, binary;                                               # a swapped slot runs in o
var moving{VISIT}, >= 0;                                                # ticks of both moves
var begun{SWAP}, >= 0, <= 1;                                            # by step k
var due{SWAP}, >= 0, <= 1;                                              # in step k or later
var held{AT}, >= 0;                                                     # bytes of a slot that is in and does not run

maximize value: sum{(d, o, k, c, n) in AT, p in RUN[c]} worth[c, operator[c, p]] * x[d, o, k, c, n, p];

s.t. has_copies{j in JOB}: sum{(d, c, n) in PLACE: job[c] = j} lives[d, c, n] <= copies[j];
s.t. in_turn{(d, c, n) in PLACE: n > 1}: lives[d, c, n] <= lives[d, c, n - 1];

s.t. begins{(d, c, n) in PLACE}: sum{p in RUN[c]: repeat or p = length[c]} first[d, c, n, p] = lives[d, c, n];
s.t. nowhere_else{(d, c, n) in PLACE, p in STATE[c]: repeat and p = length[c] or not repeat and p < length[c]}:
  first[d, c, n, p] = 0;
s.t. goes_on{(d, o) in VISITABLE, (d, c, n) in PLACE, p in STATE[c]}:
  y[d, o, 0, c, n, p] = if o = 1 then first[d, c, n, p] else y[d, o - 1, steps[d, o - 1], c, n, p];
s.t. moves{(d, o, k, c, n) in AT, p in STATE[c]}:
  y[d, o, k, c, n, p] = y[d, o, k - 1, c, n, p]
    + sum{q in RUN[c]: after[c, q] = p} x[d, o, k, c, n, q] - sum{q in RUN[c]: q = p} x[d, o, k, c, n, q];
s.t. stands{(d, o, k, c, n) in AT, p in RUN[c]}: x[d, o, k, c, n, p] <= y[d, o, k - 1, c, n, p];
s.t. cycle{(d, c, n) in PLACE, p in STATE[c], (d, o) in VISITABLE: repeat and o = H * bubbles[class[d]]}:
  y[d, o, steps[d, o], c, n, p] = first[d, c, n, p];

s.t. runs{(d, o, k, c, n) in AT}: u[d, o, k, c, n] = sum{p in RUN[c]} x[d, o, k, c, n, p];
s.t. one_at_a_time{(d, o, k) in STEP}: sum{(d, c, n) in PLACE} u[d, o, k, c, n] <= 1;
s.t. no_gap{(d, o, k) in STEP: k > 1}: sum{(d, c, n) in PLACE} (u[d, o, k, c, n] - u[d, o, k - 1, c, n]) <= 0;
s.t. follows{(d, o, k, a, m, c, n) in CHANGE}:
  change[d, o, k, a, m, c, n] >= u[d, o, k - 1, a, m] + u[d, o, k, c, n] - 1;

s.t. visits{(d, o, k, c, n) in SWAP}: visit[d, o, c, n] >= u[d, o, k, c, n];
s.t. move_ticks{(d, o, c, n) in VISIT}:
  moving[d, o, c, n] >= sum{p in STATE[c]} (into[c, p] * y[d, o, 0, c, n, p] + out[c, p] * y[d, o, steps[d, o], c, n, p])
    - most_move[c] * (1 - visit[d, o, c, n]);
s.t. fit{(d, o) in VISITABLE: steps[d, o] > 0}:
  sum{(d, o, k, c, n) in AT, p in RUN[c]} ticks[class[d], c, operator[c, p]] * x[d, o, k, c, n, p]
  + sum{(d, o, k, a, m, c, n) in CHANGE} between[job[a], job[c]] * change[d, o, k, a, m, c, n]
  + sum{(d, o, c, n) in VISIT} moving[d, o, c, n] <= net[d, o];

s.t. has_begun{(d, o, k, c, n) in SWAP}: begun[d, o, k, c, n] >= u[d, o, k, c, n];
s.t. stays_begun{(d, o, k, c, n) in SWAP: k > 1}: begun[d, o, k, c, n] >= begun[d, o, k - 1, c, n];
s.t. is_due{(d, o, k, c, n) in SWAP}: due[d, o, k, c, n] >= u[d, o, k, c, n];
s.t. stays_due{(d, o, k, c, n) in SWAP: k < steps[d, o]}: due[d, o, k, c, n] >= due[d, o, k + 1, c, n];
s.t. kept_holds{(d, o, k, c, n) in AT: keep[job[c]]}:
  held[d, o, k, c, n] >= sum{p in STATE[c]} holds[c, p] * y[d, o, k - 1, c, n, p] - most[c] * u[d, o, k, c, n];
s.t. swapped_holds{(d, o, k, c, n) in SWAP: k > 1 and k < steps[d, o]}:
  held[d, o, k, c, n] >= sum{p in STATE[c]} holds[c, p] * y[d, o, k - 1, c, n, p] - most[c] * u[d, o, k, c, n]
    - most[c] * (2 - begun[d, o, k - 1, c, n] - due[d, o, k + 1, c, n]);
s.t. fits_memory{(d, o, k) in STEP}:
  sum{(d, c, n) in PLACE, p in RUN[c]} (resident[c] + memory[c, operator[c, p]]) * x[d, o, k, c, n, p]
  + sum{(d, c, n) in PLACE} held[d, o, k, c, n]
  <= free[class[d], bubble[d, o]] + excess[d, o] * (1 - sum{(d, c, n) in PLACE} u[d, o, k, c, n]);

s.t. rests_at_first{d in DEVICE}:
  sum{(d, c, n) in PLACE, p in STATE[c]: keep[job[c]]} holds[c, p] * first[d, c, n, p] <= resident_free[class[d]];
s.t. rests{(d, o) in VISITABLE}:
  sum{(d, c, n) in PLACE, p in STATE[c]: keep[job[c]]} holds[c, p] * y[d, o, steps[d, o], c, n, p] <= resident_free[class[d]];

solve;
end;
