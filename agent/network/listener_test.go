package network

import (
	"net/netip"
	"os"
	"testing"
)

func TestFindListener(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"tcp": `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 2 1
`,
		"tcp6": `  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:192B 00000000000000000000000000000000:0000 0A 00000000:00000000
   1: 0000000000000000FFFF00000200000A:0050 00000000000000000000000000000000:0000 0A 00000000:00000000
`,
		"udp": `  sl  local_address rem_address   st
   0: 00000000:0035 00000000:0000 07 00000000:00000000
`} {
		if err := os.WriteFile(dir+"/"+file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		protocol, address string
		port              uint16
		want              string
	}{
		{"tcp", "", 8080, "127.0.0.1:8080"},
		{"tcp", "10.0.0.2", 8080, ""},
		{"tcp", "", 8081, ""}, // a connection
		{"tcp", "10.0.0.2", 6443, "[::]:6443"},
		{"tcp", "10.0.0.2", 80, "[::ffff:10.0.0.2]:80"},
		{"tcp", "10.0.0.3", 80, ""},
		{"udp", "", 53, "0.0.0.0:53"},
		{"tcp", "", 53, ""},
		{"sctp", "", 53, ""},
	} {
		var address netip.Addr
		if c.address != "" {
			address = netip.MustParseAddr(c.address)
		}
		if got := findListener(dir, c.protocol, address, c.port); got != c.want {
			t.Errorf("listener on %s port %d of address %q: %q, want %q", c.protocol, c.port, c.address, got, c.want)
		}
	}
}
