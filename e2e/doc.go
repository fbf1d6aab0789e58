// Package e2e drives the built berth command from outside, as its users do: whole
// clusters in subprocesses on loopback, the embedded kubectl, stock clients,
// kill -9. It decides nothing; its tests show that the parts, put together,
// keep what README promises.
//
// Tests wait on conditions with deadlines, never for a while. What a test
// started is killed when it ends, however it ends; what a process said is shown
// when its test failed.
//
// BERTH_OPENB names a directory with the OpenB data set for TestOpenB;
// BERTH_SOAK=1 makes the kill loops long (`make soak`).
package e2e
