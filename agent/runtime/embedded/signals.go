package embedded

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stopSignal is the signal of that name or number, as images and pods have it: SIGTERM, TERM, 15, SIGNAL_SIGTERM,
// SIGRTMINPLUS3. What is none of these is SIGTERM.
func stopSignal(name string) syscall.Signal {
	name = strings.TrimPrefix(strings.ToUpper(name), "SIGNAL_")
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n < 65 {
		return syscall.Signal(n)
	}
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if s := unix.SignalNum(name); s != 0 {
		return s
	}
	const first, last = 34, 64 // what C libraries leave of the real-time signals
	name = strings.NewReplacer("PLUS", "+", "MINUS", "-").Replace(name)
	for from, base := range map[string]int{"SIGRTMIN": first, "SIGRTMAX": last} {
		rest, ok := strings.CutPrefix(name, from)
		if !ok {
			continue
		}
		if rest == "" {
			return syscall.Signal(base)
		}
		if n, err := strconv.Atoi(rest); err == nil && base+n >= first && base+n <= last {
			return syscall.Signal(base + n)
		}
	}
	return syscall.SIGTERM
}
