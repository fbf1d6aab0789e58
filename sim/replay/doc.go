// Package replay records the inputs and outputs of the scheduler's machine and replays them: equal
// inputs must give equal effects, byte for byte.
//
// A journal consists of JSON lines. The header holds a fingerprint of the options, the footer
// {"end":steps,"effects":n} shows that nothing is missing. Each other line is a step:
//
//	{"at":..,"limit":64,"in":[{"upsert":"pods","object":{..}},{"delete":"nodes","key":"n1"},{"effect":7,"result":"done"}],
//	 "effects":[{"kind":"bind","id":8,"pod":"default/web","uid":"..","node":"n1"}],"wake":..}
//
// Times are nanoseconds since the Unix epoch; wake 0 means never. "restarted" marks the first step of a
// new machine after a restart of the scheduler. Objects are recorded as Kubernetes objects, so that
// a replay also covers their conversion.
package replay
