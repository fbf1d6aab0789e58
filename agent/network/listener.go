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

// FindListener returns the local address, such as "0.0.0.0:6443", of a socket that listens on
// the host port, or "" if there is none. The zero address means all. Mapping such a port would make
// that program unreachable. Ports mapped to pods are not found.
func FindListener(protocol string, address netip.Addr, port uint16) string {
	return findListener("/proc/thread-self/net", protocol, address, port)
}

// findListener is FindListener for a copy of /proc/net in dir.
func findListener(dir, protocol string, address netip.Addr, port uint16) string {
	for _, file := range []string{protocol, protocol + "6"} {
		text, err := os.ReadFile(dir + "/" + file)
		if err != nil {
			continue // the kernel does not have the protocol
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 4 {
				continue
			}
			endpoint, ok := parseEndpoint(fields[1])
			if !ok || endpoint.Port() != port || !isListening(protocol, fields[3]) {
				continue
			}
			if addressesOverlap(endpoint.Addr(), address) {
				return endpoint.String()
			}
		}
	}
	return ""
}

// isListening reports whether a socket state in /proc/net is TCP's LISTEN or that of an
// unconnected UDP socket.
func isListening(protocol, state string) bool {
	if protocol == "tcp" {
		return state == "0A"
	}
	return state == "07"
}

// addressesOverlap reports whether two listeners on these addresses conflict. The unspecified address
// overlaps with all, and so does the zero b.
func addressesOverlap(a, b netip.Addr) bool {
	return !b.IsValid() || a.IsUnspecified() || b.IsUnspecified() || a.Unmap() == b.Unmap()
}

// parseEndpoint parses an address of /proc/net such as "0100007F:1F90": little-endian words of
// four bytes.
func parseEndpoint(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	number, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(ip, uint16(number)), ok && err == nil
}

// String returns the port as written in errors.
func (p Port) String() string {
	if p.Address.IsValid() && !p.Address.IsUnspecified() {
		return fmt.Sprintf("%s:%d/%s", p.Address, p.Host, p.Protocol)
	}
	return fmt.Sprintf("%d/%s", p.Host, p.Protocol)
}
