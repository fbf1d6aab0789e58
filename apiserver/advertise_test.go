package apiserver

import (
	"net"
	"strconv"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// TestExternalAddressIsReachableByPods checks that documents that pods read contain an address that pods can
// reach.
func TestExternalAddressIsReachableByPods(t *testing.T) {
	advertised := net.ParseIP("127.0.0.2")
	for _, c := range []struct {
		listen, network, want string
		advertised            net.IP
	}{
		{"127.0.0.1:0", "", "127.0.0.1", advertised},
		{"127.0.0.1:0", "127.0.0.0/8", "127.0.0.2", advertised},
		{"127.0.0.1:0", "127.0.0.0/8", "127.0.0.1", nil},
		{"0.0.0.0:0", "", "127.0.0.2", advertised},
	} {
		base, err := listen(c.listen)
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{listener: listenForPods(base, c.advertised, c.network), advertised: c.advertised}
		if c.network != "" && c.advertised != nil && s.listener == base {
			testkit.SkipOrFail(t, "loopback addresses", "cannot listen on 127.0.0.2")
		}
		if got, want := s.externalAddress(), net.JoinHostPort(c.want, strconv.Itoa(s.listenPort())); got != want {
			t.Errorf("%+v: got external address %s, want %s", c, got, want)
		}
		_ = s.listener.Close()
	}
}
