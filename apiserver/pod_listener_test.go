package apiserver

import (
	"io"
	"net"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// TestPodsReachLoopbackListener checks that a loopback listener accepts pods and this machine on the advertised
// address, and closes other connections there.
func TestPodsReachLoopbackListener(t *testing.T) {
	base, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	advertised := net.ParseIP("127.0.0.2")
	l := listenForPods(base, advertised, "127.0.0.3/32")
	defer l.Close()
	if l == base {
		testkit.SkipOrFail(t, "loopback addresses", "cannot listen on 127.0.0.2")
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("accepted"))
			_ = conn.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	for _, c := range []struct{ from, to, want string }{
		{"127.0.0.1", "127.0.0.1", "accepted"},
		{"127.0.0.3", "127.0.0.2", "accepted"},
		{"127.0.0.2", "127.0.0.2", "accepted"},
		{"127.0.0.4", "127.0.0.2", ""},
	} {
		conn, err := net.DialTCP("tcp", &net.TCPAddr{IP: net.ParseIP(c.from)}, &net.TCPAddr{IP: net.ParseIP(c.to), Port: port})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(conn); string(got) != c.want {
			t.Errorf("connection from %s to %s: received %q, want %q", c.from, c.to, got, c.want)
		}
		_ = conn.Close()
	}
	_ = l.Close()
	if _, err := l.Accept(); err == nil {
		t.Error("Accept succeeded on a closed listener")
	}
	if _, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: advertised, Port: port}); err == nil {
		t.Error("the advertised address is open after Close")
	}
}

func TestListenForPodsReturnsListenerWithoutNetwork(t *testing.T) {
	for _, c := range []struct{ listen, advertised, network string }{
		{"127.0.0.1:0", "127.0.0.2", ""},
		{"127.0.0.1:0", "127.0.0.2", "invalid"},
		{"127.0.0.1:0", "", "10.0.0.0/8"},
		{"127.0.0.1:0", "203.0.113.1", "10.0.0.0/8"},
		{"0.0.0.0:0", "127.0.0.2", "10.0.0.0/8"},
	} {
		base, err := listen(c.listen)
		if err != nil {
			t.Fatal(err)
		}
		if l := listenForPods(base, net.ParseIP(c.advertised), c.network); l != base {
			t.Errorf("%+v: got listener %T, want the given one", c, l)
			_ = l.Close()
		}
		_ = base.Close()
	}
}
