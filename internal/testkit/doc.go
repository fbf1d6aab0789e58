// Package testkit contains what tests of several packages share: the rule for skipped
// tests, and the built berth binary for tests that run it.
//
// A test calls SkipOrFail if it needs something that a machine may lack (root, containerd,
// a data set). It is then skipped with the reason. With BERTH_REQUIRE=all, as in CI, it
// fails instead, so that no test is skipped by accident.
package testkit
