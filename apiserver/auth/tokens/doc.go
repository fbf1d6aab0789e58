// Package tokens issues and verifies service account tokens.
//
// A token is a JWT signed with ES256 by DATA-DIR/pki/sa.key. It contains the name and UID of a
// ServiceAccount and may be bound to a Pod, Secret or Node. It is valid if the signature, issuer,
// audience and expiry are valid, and if the account and the bound object exist with the same UID.
//
// Results are not cached: a token becomes invalid as soon as the informers have received the deletion of
// its account or pod.
//
// Invariants:
//
//   - Only ES256 with the key of this cluster is accepted.
//   - A token without expiry is rejected.
//   - A token of another issuer is ignored, so that another authenticator can accept it. An invalid
//     token of this issuer is an error.
//
// Differences from Kubernetes: Secrets of type kubernetes.io/service-account-token are neither
// created nor accepted, and the lifetime of a token is never extended.
package tokens
