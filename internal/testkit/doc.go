// Package testkit is what tests of several rooms share: the rule about skips,
// and the built berth binary for tests that drive it from outside.
//
// A test that needs a part which a machine may lack (root, containerd, a data
// set) calls Skip. On a person's machine it is skipped with the reason; under
// BERTH_REQUIRE=all, as in CI, the missing part is a failure, so that nothing
// is skipped unseen there.
package testkit
