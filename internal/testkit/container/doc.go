// Package container gives tests a containerd or an embedded runtime of their own, with images to run in
// it: made here, from the workload program (agent/testprogram) and a static busybox.
//
//	r := container.Start(t, nil)                 // containerd, network, cgroup of its own; StartEmbedded the other one
//	image := r.Workload(t)                       // "berth.test/workload:1", loaded
//	sandbox, id := r.Run(t, container.Pod{Name: "web", Args: []string{"-listen=:8080"}})
//
// All of it is removed when the test ends, failed or not; where a part is missing the
// test is skipped, or fails under BERTH_REQUIRE=all.
package container
