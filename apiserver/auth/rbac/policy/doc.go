// Package policy holds the roles and bindings that a cluster starts with.
//
// Names and content are upstream's, so that people's bindings, charts and
// habits work; what Berth's own parts need beyond that is under system:berth:.
// Nobody gets more than his work needs: the scheduler binds and deletes pods
// but reads no secret; a node's role is bound to nobody, because the node
// authorizer gives each node its own part of it.
//
// Departures from Kubernetes: no roles for parts Berth does not have
// (cloud providers, certificate signing, add-ons). The roles
// system:controller:* are bound to upstream's service accounts, and also to the
// user system:kube-controller-manager, under which all of Berth's loops run.
package policy
