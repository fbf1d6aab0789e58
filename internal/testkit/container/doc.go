// Package container gives each test its own containerd or embedded runtime, with
// images to run in it. It builds the images from the test program (agent/testprogram)
// and a static busybox.
//
//	r := container.StartContainerd(t, nil)       // containerd, network and cgroup; or StartEmbedded
//	image := r.LoadWorkload(t)                   // "berth.test/workload:1"
//	sandbox, id := r.Run(t, container.Pod{Name: "web", Args: []string{"-listen=:8080"}})
//
// Everything is removed when the test ends. If a requirement is missing, the test is
// skipped, or fails with BERTH_REQUIRE=all.
package container
