// Package policy has the built-in roles and bindings. Names and rules are those of Kubernetes.
// Additional roles of Berth have the prefix system:berth:. The role system:node is not bound, because
// the node authorizer grants its permissions per node.
//
// Differences from Kubernetes: there are no roles for controllers that Berth does not have, such as
// cloud providers. There are none for leader election with any Lease in kube-system. The roles
// system:controller:* are bound to the service accounts, and also to the user
// system:kube-controller-manager. This user runs all of Berth's controllers.
package policy
