// Package rbac decides by the stored Roles, ClusterRoles and their bindings
// who may do what, keeps the built-in roles in place, and stops people from
// granting what they do not hold.
//
//	request ─▶ Authorizer ─▶ Resolver (bindings of the user ─▶ rules) ─▶ match
//	write of a role or binding ─▶ Escalation (admission) ─▶ Resolver ─▶ covers?
//	start ─▶ Bootstrap (built-in roles and bindings exist, with all their rules)
//	running ─▶ Aggregator (rules of aggregated ClusterRoles follow their selectors)
//
// Invariants, each held by a test:
//
//   - Rules only add: no rule takes away what another grants.
//   - A binding to a missing role grants nothing and does not hide other bindings.
//   - A RoleBinding never grants outside its namespace, nor non-resource URLs.
//   - Whoever cannot do a thing cannot grant it, unless they hold the verb
//     escalate (roles) or bind (bindings), or are in system:masters.
//
// Departures from Kubernetes: the escalation check is a validating admission
// plugin instead of a wrapper around storage, so an invalid role is a 422
// before it is a 403. Roles for parts that Berth does not have are left out.
package rbac
