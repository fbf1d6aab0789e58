package apiserver

import (
	"net"
	"strconv"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
)

// advertiseAddress returns the IP address under which other machines and pods reach the server, or nil. It is
// --advertise-address or, if that is not set, the address in listenHost if that is a global unicast address. Otherwise,
// as in kube-apiserver, it is the address of the interface with the default route.
func (o Options) advertiseAddress(listenHost string) net.IP {
	if ip := net.ParseIP(o.AdvertiseAddress); ip != nil {
		return ip
	}
	if ip := net.ParseIP(listenHost); ip != nil && ip.IsGlobalUnicast() {
		return ip
	}
	ip, err := utilnet.ChooseHostInterface()
	if err != nil {
		klog.InfoS("This machine has no address to advertise; the Service default/kubernetes has no endpoint. Set --advertise-address", "err", err)
		return nil
	}
	return ip
}

// externalAddress returns the HOST:PORT in the OIDC discovery documents: the advertised address, or clientAddress if
// there is none or the server accepts loopback connections only.
func (s *Server) externalAddress() string {
	address := s.listener.Addr().(*net.TCPAddr)
	if _, servesPods := s.listener.(*podListener); s.advertised == nil || address.IP.IsLoopback() && !servesPods {
		return s.clientAddress()
	}
	return net.JoinHostPort(s.advertised.String(), strconv.Itoa(address.Port))
}
