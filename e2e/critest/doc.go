// Command critest runs critest, the test suite of CRI runtimes, against the embedded runtime and
// containerd, and writes the results to docs/reference/critest.md. It requires root and Linux.
//
// Each runtime runs in a separate process: `berth runtime` and a private containerd. This program
// neither selects nor skips specs. A failure whose message is the embedded runtime's error for an
// unsupported field counts as refused.
//
// The suite pulls images from public registries. This program replaces the registries: an HTTPS proxy
// on a loopback address serves their names, with a certificate that only the tested runtimes trust.
// The programs of the images are busybox and package standin. One constant of the suite differs: the
// digest of the image that is pulled by digest.
package main
