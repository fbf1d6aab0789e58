// Package auth assembles authentication, authorization, the admission plugins NodeRestriction and RBACEscalation, and the
// storages of reviews and token requests.
//
// It authenticates client certificates, front proxies, static tokens, service account tokens and anonymous users. It
// authorizes system:masters, public health endpoints, nodes (node authorizer) and the subjects of RBAC.
//
//	pki          certificate authority
//	tokens       service account tokens
//	rbac         RBAC authorizer; rbac/policy has the built-in roles
//	nodeauth     node authorizer and NodeRestriction
//	review       access and token reviews
//
// The API server wires the result as follows:
//
//	sec, err := auth.New(auth.Options{CA: ca, Client: loopbackClientset, Informers: factory})
//	config.Authentication.Authenticator = sec.Authenticator
//	config.Authentication.APIAudiences  = sec.Audiences
//	config.SecureServing.ClientCA       = sec.ClientCA
//	config.Authorization.Authorizer     = sec.Authorizer
//	config.RuleResolver                 = sec.RuleResolver
//	auth.RegisterPlugins(plugins)          // names: auth.PluginNames
//	sec.Storages()                         // virtual kinds and serviceaccounts/token
//	sec.DiscoveryHandlers(address)         // handlers by path
//	sec.Bootstrap(ctx)                     // post-start hook; readiness waits for it
//	sec.Run(ctx)                           // aggregated roles
//
// New registers informers, so it must be called before the factory starts.
//
// Invariants: an invalid credential is rejected with 401 and never treated as anonymous. The
// anonymous user may read health and version only, unless a binding grants more. Until the roles
// have synced, only system:masters is authorized, except for health and version.
package auth
