package embedded

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stopSignal parses a signal name or number of an image or pod: SIGTERM, TERM, 15,
// SIGNAL_SIGTERM, SIGRTMINPLUS3. Invalid names become SIGTERM.
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
	const firstRealTime, lastRealTime = 34, 64 // real-time signals that C libraries do not use
	name = strings.NewReplacer("PLUS", "+", "MINUS", "-").Replace(name)
	for prefix, base := range map[string]int{"SIGRTMIN": firstRealTime, "SIGRTMAX": lastRealTime} {
		offset, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if offset == "" {
			return syscall.Signal(base)
		}
		if n, err := strconv.Atoi(offset); err == nil && base+n >= firstRealTime && base+n <= lastRealTime {
			return syscall.Signal(base + n)
		}
	}
	return syscall.SIGTERM
}
