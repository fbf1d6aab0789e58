// Package review serves the review kinds of authentication.k8s.io and authorization.k8s.io:
// SelfSubjectReview, TokenReview, SubjectAccessReview with its Self and Local variants, and
// SelfSubjectRulesReview.
//
// Reviews are not stored. They are validated as in Kubernetes and evaluated by the authenticator and
// the authorizer of the server.
package review
