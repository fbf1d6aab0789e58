package auth

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/berthproject/berth/apiserver/auth/pki"
)

// Headers in which a front proxy names the user of a request. kubeadm configures the same headers.
const (
	userHeader        = "X-Remote-User"
	uidHeader         = "X-Remote-Uid"
	groupHeader       = "X-Remote-Group"
	extraHeaderPrefix = "X-Remote-Extra-"
)

// frontProxyAuthenticator returns the authenticator of requests that a front proxy forwards, and the CA of front
// proxies. It accepts the headers only with the certificate of [pki.FrontProxyUser].
func (s *Security) frontProxyAuthenticator() (authenticator.Request, dynamiccertificates.CAContentProvider, error) {
	proxy, err := s.options.CA.FrontProxy()
	if err != nil {
		return nil, nil, err
	}
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("front-proxy-ca", proxy.CAFile)
	if err != nil {
		return nil, nil, fmt.Errorf("front proxy CA: %w", err)
	}
	list := func(name string) headerrequest.StringSliceProvider { return headerrequest.StaticStringSlice{name} }
	return headerrequest.NewDynamicVerifyOptionsSecure(ca.VerifyOptions, list(pki.FrontProxyUser),
		list(userHeader), list(uidHeader), list(groupHeader), list(extraHeaderPrefix)), ca, nil
}
