// Package auth assembles who may talk to the API server and what they may do:
// authentication (client certificates, static tokens, service-account tokens,
// anonymous), authorization (system:masters, health and version for all, node
// authorizer, RBAC), admission (NodeRestriction, RBACEscalation) and the
// storages of reviews and token requests.
//
//	sub-package  decides
//	pki          which certificates exist and last
//	tokens       what a service-account token is worth
//	rbac         what the stored roles grant; rbac/policy: what they are at first
//	nodeauth     what belongs to a node
//	review       how clients ask about all of this
//
// # Wiring
//
//	ca, err := pki.Open(filepath.Join(dataDir, "pki"), time.Now)
//	names := pki.ServerNames(kubernetesServiceIP, listenHost)
//	certFile, keyFile, err := ca.ServingPair(names)      // → SecureServing.ServerCert.CertKey
//	sec, err := auth.New(auth.Options{CA: ca, Client: loopbackClientset, Informers: factory})
//	config.Authentication.Authenticator = sec.Authenticator
//	config.Authentication.APIAudiences  = sec.Audiences
//	config.SecureServing.ClientCA       = sec.ClientCA    // else no client certificate is asked for
//	config.Authorization.Authorizer     = sec.Authorizer
//	config.RuleResolver                 = sec.Rules
//	auth.RegisterPlugins(admissionOptions.Plugins)        // names: auth.PluginNames
//	storages: sec.Storages()[schema.GroupResource{...}]   // virtual kinds and serviceaccounts/token
//	sec.Documents(address): path → handler               // NonGoRestfulMux.Handle
//	post-start hook "rbac/bootstrap-roles": sec.Bootstrap(ctx)  // readiness waits for it
//	post-start hook (or goroutine):         sec.Run(ctx)        // aggregated roles
//	after listening: ca.Kubeconfig(path, server, pki.Admin())   // and Scheduler(), Node(name) ...
//	while running:   go ca.KeepServing(ctx, 12*time.Hour, names, report)
//
// New asks the factory for its informers, so it must be called before the
// factory starts. The loopback token of the generic library is added by the
// library itself and belongs to system:masters.
//
// Invariants: an unknown or broken credential is a 401, never anonymous; the
// anonymous user sees health and version only, unless somebody binds more to
// him; nobody but system:masters can do anything before the roles are read.
package auth
