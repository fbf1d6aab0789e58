package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"

	"github.com/berthproject/berth/apiserver/subresource"
)

// openPaths are what everybody may read without saying who they are.
var openPaths = []string{"/healthz", "/livez", "/readyz", "/version"}

// secure says who is who and who may do what.
func (s *Server) secure(c *genericapiserver.Config, _ informers.SharedInformerFactory) error {
	verify, err := x509.NewStaticVerifierFromFile(s.authority.CAFile())
	if err != nil {
		return err
	}
	var open []apiserver.AnonymousAuthCondition
	for _, path := range openPaths {
		open = append(open, apiserver.AnonymousAuthCondition{Path: path})
	}
	c.Authentication.Authenticator = union.New(
		x509.NewDynamic(verify, x509.CommonNameUserConversion),
		anonymous.NewAuthenticator(open),
	)
	c.Authorization.Authorizer = authorizerfactory.NewPrivilegedGroups("system:masters", "system:unauthenticated")
	return nil
}

// virtual are the resources that are answered and not stored.
func (s *Server) virtual(made *storages) map[schema.GroupVersion]map[string]rest.Storage {
	return map[schema.GroupVersion]map[string]rest.Storage{
		corev1.SchemeGroupVersion: {"bindings": subresource.NewLegacyBinding(made.store(corev1.Resource("pods")))},
	}
}
