// Package rbac implements RBAC: authorization by stored roles, the built-in roles, aggregated
// ClusterRoles, and the prevention of privilege escalation.
//
//	Authorizer  authorizes requests with the rules that Resolver returns for the user
//	Escalation  is the admission plugin that prevents privilege escalation
//	Bootstrap   creates the built-in roles and bindings
//	Aggregator  updates the rules of aggregated ClusterRoles
//
// Invariants:
//
//   - Rules are additive.
//   - A binding to a missing role grants nothing and does not affect other bindings.
//   - A RoleBinding grants nothing outside of its namespace and no non-resource URLs.
//   - A user can grant only permissions that the user holds. Users with the verb escalate (roles) or
//     bind (bindings) and the group system:masters are exempt.
//
// Differences from Kubernetes: the escalation check is an admission plugin and not part of the
// storage. An invalid role is therefore rejected with 422 before 403. There are no roles for
// components that Berth does not have.
package rbac
