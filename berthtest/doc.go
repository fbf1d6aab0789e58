// Package berthtest runs a whole cluster inside a Go test: API server on an embedded etcd, scheduler,
// controllers and simulated nodes. It needs no binary, no container runtime and no root.
//
//	func TestOperator(t *testing.T) {
//		cluster := berthtest.Start(t, berthtest.Nodes(3), berthtest.CRDs("config/crd"))
//		runOperator(t, cluster.Config)
//		cluster.FailNode("n1")
//		cluster.Eventually("the operator replaces the pod", func(ctx context.Context) error { ... })
//	}
//
// Pods on simulated nodes run no processes. Annotations set how long they run and what they use
// (docs/guides/simulate.md).
//
// [StartVirtual] starts a smaller cluster without server and etcd under the virtual time of testing/synctest, in which
// hours take milliseconds.
//
// The cluster ends with the test: none of its goroutines, ports or files remains. Several clusters may
// run concurrently. Methods are safe for concurrent use, but only the goroutine of the test may call
// methods that fail the test.
//
// The timeouts of nodes are shorter than by default, so that tests are fast: see [GracePeriod], [TolerationSeconds] and
// [PressureTransition].
package berthtest
