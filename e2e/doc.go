// Package e2e tests the built berth command as its users run it. The tests run whole clusters in
// subprocesses on loopback addresses, with the embedded kubectl and standard clients, and use kill
// -9.
//
// Tests wait for conditions with deadlines, never for a fixed time. The processes of a
// test are killed when it ends. Their output is shown if the test fails.
//
// BERTH_OPENB names a directory with the OpenB data set for TestOpenB. BERTH_SOAK=1 makes
// the kill loops long (`make soak`).
package e2e
