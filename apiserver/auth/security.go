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

// Options is what the security of a server is made from.
type Options struct {
	CA        *pki.Authority
	Client    kubernetes.Interface // the loopback client, of system:masters
	Informers informers.SharedInformerFactory
	// TokenFile is a CSV of static tokens (token,user,uid,"group1,group2"); "" for none.
	TokenFile string
	// ClientCAFile verifies client certificates; "" means the CA's own.
	ClientCAFile string
	// Issuer of service-account tokens; "" means tokens.DefaultIssuer.
	Issuer string
	// Audiences the server answers to; none means the issuer.
	Audiences []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Security is the assembled whole; see the package comment for the wiring.
type Security struct {
	Authenticator authenticator.Request
	Audiences     authenticator.Audiences
	ClientCA      *dynamiccertificates.DynamicFileCAContent
	Authorizer    authorizer.Authorizer
	RuleResolver  authorizer.RuleResolver

	options     Options
	tokenGetter tokens.Getter
	issuer      *tokens.Issuer
	tokens      authenticator.Token
	resolver    *rbac.Resolver
	graph       *nodeauth.Graph
	aggregator  *rbac.Aggregator
}

// New assembles a server's security.
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
		return fmt.Errorf("node authorizer: %w", err)
	}
	// Open before the roles can be read: whoever waits for the server asks here.
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

// PluginNames are the admission plugins of this package, in the order to run them.
func PluginNames() []string { return []string{nodeauth.RestrictionPlugin, rbac.EscalationPlugin} }

// RegisterPlugins adds them to those a server can turn on.
func RegisterPlugins(plugins *admission.Plugins) {
	nodeauth.RegisterRestriction(plugins)
	rbac.RegisterEscalation(plugins)
}

// Storages are the resources this package answers: reviews, and
// serviceaccounts/token of the core group (a subresource of a stored kind).
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

// DiscoveryHandlers are the handlers, by path, of the token issuer's public documents.
// address is HOST:PORT under which clients reach this server.
func (s *Security) DiscoveryHandlers(address string) (map[string]http.Handler, error) {
	return s.issuer.DiscoveryHandlers(address)
}

// Bootstrap makes the built-in roles exist and waits until the authorizer sees
// roles and the node graph is complete: after it, decisions are the real ones.
func (s *Security) Bootstrap(ctx context.Context) error {
	if err := rbac.Bootstrap(ctx, s.options.Client); err != nil {
		return err
	}
	if err := s.publishClientCA(ctx); err != nil {
		return err
	}
	return s.waitForSync(ctx)
}

// Run keeps aggregated roles up to date until ctx ends. (The generic server
// itself follows the file of ClientCA.)
func (s *Security) Run(ctx context.Context) { s.aggregator.Run(ctx) }
