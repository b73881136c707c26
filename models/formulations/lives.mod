# The objectives over time: each device's life repetition by repetition, over modes. Mathematics: lives.md.
# Every figure is a whole number: values and weights in one unit, times in repetitions of H main iterations.

param objective, symbolic, in {"makespan", "completion", "on_time"};
param migrate, binary;                 # 1: a copy may go on on another device
param repeat, binary;                  # 1: a copy begins anywhere; 0: fresh, at operator 0
param R, integer, >= 1;                # repetitions looked at

set DEVICE;
set CLASS;
param class{DEVICE}, symbolic, in CLASS;
set KIND;                              # a job in one of its configurations
param length{KIND}, integer, >= 1;     # operators of the chain
param worth{KIND}, >= 0;               # of an iteration, times the job's weight
set COPY;                              # every copy of every job
set MAY within {COPY, KIND};           # the configurations of its job
param weight{COPY}, >= 0;
param wanted{COPY}, integer, >= 1;     # iterations
param after{COPY}, integer, >= 0;      # it may work in repetitions after this one: ceil(release / length of a repetition)
param due{COPY}, integer, >= 0;         # its deadline lies at or after the end of this one, not of the next (R: none)

set TURN;                              # what a slot does in a repetition: its kind, where it stands before and after, operators done
param kind{TURN}, symbolic, in KIND;
param from{TURN}, integer, >= 0;       # a state 0 .. length (length: nothing done yet)
param to{TURN}, integer, >= 0;
param work{TURN}, integer, >= 1;
set MODE;                              # what a device can do in a repetition: so many turns of each sort at once
param of{MODE}, symbolic, in CLASS;
param turns{MODE, TURN}, integer, >= 0, default 0;

set REPETITION := 1..R;
set STATE := setof{(q, c) in MAY, p in 0..length[c]} (q, c, p);
set DOES := setof{(q, c) in MAY, d in DEVICE, r in REPETITION, t in TURN: kind[t] = c and r > after[q]} (d, r, t, q);
set USES := setof{d in DEVICE, r in REPETITION, m in MODE: of[m] = class[d]} (d, r, m);

var z{USES}, binary;                   # the device is in this mode
var b{DOES}, binary;                   # the copy does this turn there
var is{MAY}, binary;                   # the configuration of a copy
var at{COPY, DEVICE}, binary;          # the device of a copy
var y{(q, c, p) in STATE, 0..R}, >= 0, <= 1; # it stands there after so many repetitions
var finished{COPY, REPETITION}, binary;
var iterations{MAY}, integer, >= 0;    # finished in time, at most those wanted
var last, integer, >= 0;                       # of all repetitions in which a copy finishes

minimize cost:
  (if objective = "makespan" then 1 else 0) * last
  + sum{q in COPY} (if objective = "completion" then weight[q] else 0) * (R + 1 - sum{r in REPETITION} finished[q, r])
  - sum{(q, c) in MAY} (if objective = "on_time" then worth[c] else 0) * iterations[q, c];

s.t. one_mode{d in DEVICE, r in REPETITION}: sum{(d, r, m) in USES} z[d, r, m] <= 1;
s.t. filled{d in DEVICE, r in REPETITION, t in TURN}:
  sum{(d, r, t, q) in DOES} b[d, r, t, q] = sum{(d, r, m) in USES} turns[m, t] * z[d, r, m];
s.t. one_turn{q in COPY, r in REPETITION}: sum{(d, r, t, q) in DOES} b[d, r, t, q] <= 1;
s.t. one_configuration{q in COPY}: sum{(q, c) in MAY} is[q, c] = 1;
s.t. one_device{q in COPY}: sum{d in DEVICE} at[q, d] <= 1;
s.t. stays{(d, r, t, q) in DOES: not migrate}: b[d, r, t, q] <= at[q, d];

s.t. begins{(q, c) in MAY}: sum{(q, c, p) in STATE} y[q, c, p, 0] = is[q, c];
s.t. begins_fresh{(q, c, p) in STATE: not repeat and p < length[c]}: y[q, c, p, 0] = 0;
s.t. goes_on{(q, c, p) in STATE, r in REPETITION}:
  y[q, c, p, r] = y[q, c, p, r - 1]
    + sum{(d, r, t, q) in DOES: kind[t] = c and to[t] = p} b[d, r, t, q]
    - sum{(d, r, t, q) in DOES: kind[t] = c and from[t] = p} b[d, r, t, q];
s.t. stands{q in COPY, r in REPETITION, (q, c, p) in STATE}:
  sum{(d, r, t, q) in DOES: kind[t] = c and from[t] = p} b[d, r, t, q] <= y[q, c, p, r - 1];

s.t. is_finished{q in COPY, r in REPETITION}:
  sum{(d, s, t, q) in DOES: s <= r} work[t] * b[d, s, t, q]
    >= sum{(q, c) in MAY} wanted[q] * length[c] * (is[q, c] + finished[q, r] - 1);
s.t. stays_finished{q in COPY, r in REPETITION: r > 1}: finished[q, r] >= finished[q, r - 1];
s.t. all_finish{q in COPY: objective <> "on_time"}: finished[q, R] = 1;
s.t. is_last{q in COPY: objective = "makespan"}: last >= R + 1 - sum{r in REPETITION} finished[q, r];
s.t. in_time{(q, c) in MAY}:
  length[c] * iterations[q, c] <= sum{(d, r, t, q) in DOES: kind[t] = c and r <= due[q]} work[t] * b[d, r, t, q];
s.t. at_most_wanted{(q, c) in MAY}: iterations[q, c] <= wanted[q] * is[q, c];

solve;
end;
