package podspec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// linuxSignals are the signals by which a Linux container may be stopped, in alphabetical order.
var linuxSignals = func() []corev1.Signal {
	signals := []corev1.Signal{
		corev1.SIGABRT, corev1.SIGALRM, corev1.SIGBUS, corev1.SIGCHLD, corev1.SIGCLD, corev1.SIGCONT,
		corev1.SIGFPE, corev1.SIGHUP, corev1.SIGILL, corev1.SIGINT, corev1.SIGIO, corev1.SIGIOT,
		corev1.SIGKILL, corev1.SIGPIPE, corev1.SIGPOLL, corev1.SIGPROF, corev1.SIGPWR, corev1.SIGQUIT,
		corev1.SIGSEGV, corev1.SIGSTKFLT, corev1.SIGSTOP, corev1.SIGSYS, corev1.SIGTERM, corev1.SIGTRAP,
		corev1.SIGTSTP, corev1.SIGTTIN, corev1.SIGTTOU, corev1.SIGURG, corev1.SIGUSR1, corev1.SIGUSR2,
		corev1.SIGVTALRM, corev1.SIGWINCH, corev1.SIGXCPU, corev1.SIGXFSZ, corev1.SIGRTMIN, corev1.SIGRTMAX,
	}
	for i := 1; i <= 15; i++ {
		signals = append(signals, corev1.Signal(fmt.Sprintf("SIGRTMIN+%d", i)))
	}
	for i := 1; i <= 14; i++ {
		signals = append(signals, corev1.Signal(fmt.Sprintf("SIGRTMAX-%d", i)))
	}
	slices.Sort(signals)
	return signals
}()
