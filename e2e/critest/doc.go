// Critest runs critest, the test suite of CRI runtimes, against the embedded runtime and
// containerd, and writes the results to docs/reference/critest.md. It requires root and Linux.
//
// Each runtime is a process of its own: `berth runtime` and a private containerd. No spec is
// selected or skipped by this program. A failure whose message has the embedded runtime's
// refusal counts as refused by name.
//
// The suite pulls images from public registries. This program serves stand-ins for them: an HTTPS
// proxy on a loopback address answers for the registries' names, with a certificate that only the
// runtimes under test trust. The stand-ins are busybox and package standin. One constant of the
// suite differs: the digest of the image that is pulled by digest.
package main
