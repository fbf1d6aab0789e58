// Package replay records what the scheduler's machine was fed and what it answered, and
// runs a record again: the same inputs give the same effects, byte for byte.
//
// A journal is JSON lines. The first says of what options it is, the last, {"end":steps,"effects":n},
// that nothing is missing; each other one is a step:
//
//	{"at":..,"limit":64,"in":[{"put":"pods","object":{..}},{"gone":"nodes","key":"n1"},{"answer":7,"result":"done"}],
//	 "effects":[{"do":"bind","id":8,"pod":"default/web","UID":"..","node":"n1"}],"wake":..}
//
// Times are nanoseconds since the Unix epoch; wake 0 is never. "fresh" marks the first step of
// a machine that knows of nothing: the scheduler was restarted. Objects are Kubernetes
// objects as they were delivered, so that what compiles them is run again, too.
package replay
