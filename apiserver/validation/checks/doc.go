// Package checks has the field checks that the packages below apiserver/validation share. Each
// check returns field errors with the text of kube-apiserver.
package checks
