// Command descheduler lets Berth's descheduling do a Work in process and prints what a pass took as
// one line of JSON.
//
// It is for parity/descheduler (make bench-parity), which starts it in turn with the real descheduler;
// that module says what a Work is, and the structs in work.go are its twins by field name. What is measured
// is a pass over a snapshot that is there: in compatible mode RunPolicy before an API that grants all
// evictions, in planned mode the planner too, from the fork of the cluster to the finished plan. Compiling the
// objects is not in it, as the filling of its informers is not for the real one.
//
// A pass is made again until there is enough to measure; what is printed are means a pass.
package main
