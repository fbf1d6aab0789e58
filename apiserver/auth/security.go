package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver/auth/nodeauth"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/auth/rbac"
	"github.com/berthproject/berth/apiserver/auth/review"
	"github.com/berthproject/berth/apiserver/auth/tokens"
)

// Options configures New. CA, Client and Informers are required.
type Options struct {
	CA        *pki.Authority
	Client    kubernetes.Interface // a client in group system:masters
	Informers informers.SharedInformerFactory
	// TokenFile is the path of a CSV of static tokens (token,user,uid,"group1,group2"). "" means
	// none.
	TokenFile string
	// ClientCAFile is the CA bundle that verifies client certificates. The default is the CA's own
	// certificate.
	ClientCAFile string
	// Issuer is the issuer of service account tokens. The default is tokens.DefaultIssuer.
	Issuer string
	// Audiences are the audiences that the server accepts in tokens. The default is the issuer.
	Audiences []string
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// Security holds the authenticator and the authorizer of a server. See the package documentation
// for the wiring.
type Security struct {
	Authenticator authenticator.Request
	Audiences     authenticator.Audiences
	// ClientCA has the CAs of client certificates and of front proxies, for the TLS handshake.
	ClientCA     dynamiccertificates.CAContentProvider
	Authorizer   authorizer.Authorizer
	RuleResolver authorizer.RuleResolver

	options     Options
	tokenGetter tokens.Getter
	issuer      *tokens.Issuer
	tokens      authenticator.Token
	resolver    *rbac.Resolver
	graph       *nodeauth.Graph
	aggregator  *rbac.Aggregator
}

// New builds the authentication and authorization of a server.
func New(o Options) (*Security, error) {
	if o.CA == nil || o.Client == nil || o.Informers == nil {
		return nil, errors.New("auth.Options: CA, Client and Informers are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Issuer == "" {
		o.Issuer = tokens.DefaultIssuer
	}
	if len(o.Audiences) == 0 {
		o.Audiences = []string{o.Issuer}
	}
	if o.ClientCAFile == "" {
		o.ClientCAFile = o.CA.CAFile()
	}
	s := &Security{options: o, Audiences: o.Audiences}
	if err := s.buildAuthenticator(); err != nil {
		return nil, err
	}
	if err := s.buildAuthorizer(); err != nil {
		return nil, err
	}
	var err error
	s.aggregator, err = rbac.NewAggregator(o.Client, o.Informers)
	return s, err
}

func (s *Security) buildAuthorizer() error {
	var err error
	if s.resolver, err = rbac.NewResolver(s.options.Informers); err != nil {
		return err
	}
	s.graph = nodeauth.NewGraph()
	if err := s.graph.Watch(s.options.Informers); err != nil {
		return fmt.Errorf("starting the node authorizer: %w", err)
	}
	// Health and version are allowed before the roles are read, for clients that wait for the
	// server.
	public, err := path.NewAuthorizer([]string{"/healthz", "/livez", "/readyz", "/version", "/version/"})
	if err != nil {
		return err
	}
	roles := rbac.NewAuthorizer(s.resolver)
	s.RuleResolver = roles
	s.Authorizer, err = union.New(
		union.NamedAuthorizer{AuthorizerName: "masters", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "public", Authorizer: public},
		union.NamedAuthorizer{AuthorizerName: "Node", Authorizer: nodeauth.NewAuthorizer(s.graph)},
		union.NamedAuthorizer{AuthorizerName: "RBAC", Authorizer: roles},
	)
	return err
}

// PluginNames returns the admission plugins of this package in the order in which they run.
func PluginNames() []string { return []string{nodeauth.RestrictionPlugin, rbac.EscalationPlugin} }

// RegisterPlugins registers the admission plugins of this package.
func RegisterPlugins(plugins *admission.Plugins) {
	nodeauth.RegisterRestriction(plugins)
	rbac.RegisterEscalation(plugins)
}

// Storages returns the storages of this package: the review kinds and serviceaccounts/token.
func (s *Security) Storages() map[schema.GroupResource]rest.Storage {
	const authn, authz = "authentication.k8s.io", "authorization.k8s.io"
	return map[schema.GroupResource]rest.Storage{
		{Resource: "serviceaccounts/token"}:                   tokens.NewRequestREST(s.issuer, s.tokenGetter, s.options.Audiences),
		{Group: authn, Resource: "tokenreviews"}:              review.NewTokenReview(s.tokens, s.options.Audiences),
		{Group: authn, Resource: "selfsubjectreviews"}:        review.NewSelfSubjectReview(s.options.Now),
		{Group: authz, Resource: "subjectaccessreviews"}:      review.NewSubjectAccessReview(s.Authorizer),
		{Group: authz, Resource: "localsubjectaccessreviews"}: review.NewLocalSubjectAccessReview(s.Authorizer),
		{Group: authz, Resource: "selfsubjectaccessreviews"}:  review.NewSelfSubjectAccessReview(s.Authorizer),
		{Group: authz, Resource: "selfsubjectrulesreviews"}:   review.NewSelfSubjectRulesReview(s.RuleResolver),
	}
}

// DiscoveryHandlers returns the handlers of the issuer discovery documents by path. address is the
// HOST:PORT that clients use.
func (s *Security) DiscoveryHandlers(address string) (map[string]http.Handler, error) {
	return s.issuer.DiscoveryHandlers(address)
}

// Bootstrap creates the built-in roles, publishes the ConfigMap for delegated authentication, and waits until the RBAC
// and node authorizers have synced.
func (s *Security) Bootstrap(ctx context.Context) error {
	if err := rbac.Bootstrap(ctx, s.options.Client); err != nil {
		return err
	}
	if err := s.publishAuthentication(ctx); err != nil {
		return err
	}
	return s.waitForSync(ctx)
}

// Run updates aggregated roles until ctx is done. The generic server reloads ClientCA itself.
func (s *Security) Run(ctx context.Context) { s.aggregator.Run(ctx) }
