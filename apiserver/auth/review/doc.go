// Package review answers the questions that clients ask about authentication
// and authorization: who am I (SelfSubjectReview), whose token is this
// (TokenReview), may I or may he do that (SubjectAccessReview and its Self and
// Local kinds), what may I do (SelfSubjectRulesReview).
//
// Nothing is stored: each is a POST whose answer is its status. What is asked
// is checked as upstream does (400 for a request that cannot be, 422 for one
// that contradicts itself), and then put to the very authenticator and
// authorizer that guard requests, so the answer is what would happen.
package review
