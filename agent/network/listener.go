package network

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// FindListener says of a port of the host who has it: words such as "0.0.0.0:6443", "" if nobody has. A pod
// that was given it would cut off who listens there, for all who ask from now on. Only sockets are looked for: which pod has which
// port the node's agent knows.
func FindListener(protocol string, address netip.Addr, port uint16) string {
	return findListener("/proc/thread-self/net", protocol, address, port)
}

func findListener(dir, protocol string, address netip.Addr, port uint16) string {
	for _, file := range []string{protocol, protocol + "6"} {
		text, err := os.ReadFile(dir + "/" + file)
		if err != nil {
			continue // no such protocol: nobody listens there
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 4 {
				continue
			}
			at, ok := parseEndpoint(fields[1])
			if !ok || at.Port() != port || !isListening(protocol, fields[3]) {
				continue
			}
			if addressesOverlap(at.Addr(), address) {
				return at.String()
			}
		}
	}
	return ""
}

// isListening says whether a socket is one that waits for others: TCP's state LISTEN, and UDP's of no peer.
func isListening(protocol, state string) bool {
	if protocol == "tcp" {
		return state == "0A"
	}
	return state == "07"
}

// addressesOverlap says whether who sends to one of the addresses may reach the other; the unspecified one is all.
func addressesOverlap(a, b netip.Addr) bool {
	return !b.IsValid() || a.IsUnspecified() || b.IsUnspecified() || a.Unmap() == b.Unmap()
}

// parseEndpoint reads "0100007F:1F90" as the kernel prints it: words of four bytes, each in the machine's order, which
// is the lowest byte first on all that Berth runs on.
func parseEndpoint(text string) (netip.AddrPort, bool) {
	first, second, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(first)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	a, ok := netip.AddrFromSlice(raw)
	port, err := strconv.ParseUint(second, 16, 16)
	return netip.AddrPortFrom(a, uint16(port)), ok && err == nil
}

// String is how an error names a port.
func (p Port) String() string {
	if p.Address.IsValid() && !p.Address.IsUnspecified() {
		return fmt.Sprintf("%s:%d/%s", p.Address, p.Host, p.Protocol)
	}
	return fmt.Sprintf("%d/%s", p.Host, p.Protocol)
}
