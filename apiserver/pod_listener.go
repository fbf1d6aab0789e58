package apiserver

import (
	"errors"
	"net"
	"strconv"
	"sync"

	"k8s.io/klog/v2"
)

// podListener accepts connections on a loopback address and, from pods and this machine, on the advertised address. Pods
// use the Service default/kubernetes, whose endpoint is the advertised address.
type podListener struct {
	net.Listener // the loopback address
	pods         net.Listener
	network      *net.IPNet
	results      chan acceptResult
	closed       chan struct{}
	once         sync.Once // closes closed
}

type acceptResult struct {
	conn net.Conn
	err  error
}

// listenForPods adds a listener for the pods of a network to a loopback listener. It returns the listener
// unchanged if there is no network, if it is not a loopback listener, or if the advertised address cannot be used.
func listenForPods(listener net.Listener, advertised net.IP, podNetwork string) net.Listener {
	address := listener.Addr().(*net.TCPAddr)
	if podNetwork == "" || advertised == nil || !address.IP.IsLoopback() {
		return listener
	}
	_, network, err := net.ParseCIDR(podNetwork)
	if err != nil {
		klog.InfoS("Pods cannot connect to the Service default/kubernetes", "podNetwork", podNetwork, "err", err)
		return listener
	}
	pods, err := net.Listen("tcp", net.JoinHostPort(advertised.String(), strconv.Itoa(address.Port)))
	if err != nil {
		klog.InfoS("Pods cannot connect to the Service default/kubernetes; set --listen or --advertise-address", "err", err)
		return listener
	}
	l := &podListener{Listener: listener, pods: pods, network: network, results: make(chan acceptResult), closed: make(chan struct{})}
	go l.forward(listener, func(net.Conn) bool { return true })
	go l.forward(pods, l.isAllowed)
	return l
}

// isAllowed reports whether a connection to the advertised address comes from a pod or from this machine.
func (l *podListener) isAllowed(conn net.Conn) bool {
	remote, ok1 := conn.RemoteAddr().(*net.TCPAddr)
	local, ok2 := conn.LocalAddr().(*net.TCPAddr)
	return ok1 && ok2 && (l.network.Contains(remote.IP) || remote.IP.Equal(local.IP))
}

// forward passes allowed connections to Accept until the listener is closed.
func (l *podListener) forward(listener net.Listener, isAllowed func(net.Conn) bool) {
	for {
		conn, err := listener.Accept()
		if err == nil && !isAllowed(conn) {
			_ = conn.Close()
			continue
		}
		select {
		case l.results <- acceptResult{conn, err}:
		case <-l.closed:
			if conn != nil {
				_ = conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Accept returns the next connection.
func (l *podListener) Accept() (net.Conn, error) {
	select {
	case r := <-l.results:
		return r.conn, r.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close closes both listeners.
func (l *podListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return errors.Join(l.Listener.Close(), l.pods.Close())
}
