// Package tokens issues and checks the tokens of service accounts.
//
// A token is a JWT signed with ES256 by the key in DATA-DIR/pki/sa.key. It
// names a ServiceAccount by name and uid and may be bound to a Pod, Secret or
// Node, again by name and uid. It is valid while
//
//	the signature is ours, issuer and audience fit, it has not expired, and
//	the account and the object it is bound to still exist with those uids.
//
// Nothing is cached: deleting the account or the pod ends the token as soon as
// this server's informers have seen the deletion.
//
// Invariants, each held by a test:
//
//   - Only ES256 with our key is accepted; the header's algorithm is never trusted.
//   - A token without an expiry is refused, however it was signed.
//   - A token of another issuer is "not ours" (another authenticator may know it);
//     a token that claims to be ours and is not valid is an error.
//
// Departures from Kubernetes: tokens in Secrets of type
// kubernetes.io/service-account-token are neither made nor accepted, and
// expiry is never extended beyond what was asked for.
package tokens
