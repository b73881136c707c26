# The integer master: how many devices of each class follow which pattern. Mathematics: master.md.

set CLASS;
set JOB;
set PATTERN;
param count{CLASS}, integer, >= 0;    # devices
param copies{JOB}, integer, >= 0;
param class{PATTERN}, symbolic, in CLASS;
param worth{PATTERN}, >= 0;           # of one such device
param uses{PATTERN, JOB}, integer, >= 0, default 0;

var z{PATTERN}, integer, >= 0;        # devices that follow the pattern

maximize value: sum{q in PATTERN} worth[q] * z[q];
s.t. has_devices{g in CLASS}: sum{q in PATTERN: class[q] = g} z[q] <= count[g];
s.t. has_copies{j in JOB}: sum{q in PATTERN} uses[q, j] * z[q] <= copies[j];

solve;
end;
