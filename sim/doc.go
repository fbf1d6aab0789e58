// Package sim runs Berth under virtual time: the machine that schedules in
// production, nodes on the machine that runs pods in production, and around them an
// API server in memory (sim/store) whose watches lag, break and repeat, whose answers
// get lost, and whose clients are killed in the middle.
//
//	World: one clock, one heap of (time, sequence) -> what happens then
//	  store        objects, revisions, conflicts          sim/store
//	  scheduler    engine/scheduling; effects become requests with latency and faults
//	  agents       engine/podlifecycle, one life a pod; containers run as annotations say
//	  disruption   the status of budgets                  engine/budget
//	  evictions    requests to evict, and drains           engine/budget
//	  taints       NoExecute taints evict pods         engine/tainteviction
//	  nodelife     lost nodes, taints of conditions        engine/nodelifecycle
//	  podgc        pods that nothing else deletes          engine/podgc
//	  workloads    Deployments to DaemonSets               engine/workload
//	  records      missing records, Holds of type Avoid    engine/displacement
//	  descheduler  moves pods, planned or not              engine/descheduling
//	  owners       pods in place of those that leave, of owners that are only named
//	  volumes      claims whose volume was chosen get bound
//	  audit        what must always hold
//
// An actor knows of the others what its own lagging watch told it. One that is
// killed loses its machine and begins from a list.
//
// What must hold is checked after every commit and every step of the
// scheduler; see audit.go for the names. The first violation ends the run.
//
// Everything is a function of the options and of what the caller schedules with
// At: no clock, no goroutine (a compatible round of the descheduler is a coroutine), no map order, and randomness only as hashes of the
// seed and names, so that a run with one event less goes otherwise only where that
// event mattered.
//
// sim/chaos lets all who displace do so at once, sim/thrashing plays what moves pods without success. Around it: sim/script reads text scenarios, sim/random makes and shrinks them,
// sim/replay records the scheduler's inputs and runs them again.
package sim
