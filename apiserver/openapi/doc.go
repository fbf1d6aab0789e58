// Package openapi holds the OpenAPI definitions of every type that the table
// of kinds serves. Server-side apply, explain, diff and field validation of
// clients are all built from them, so a kind without a definition cannot be
// served; a test of this package says which one is missing.
//
// zz_generated.openapi.go is made by `go generate ./apiserver/openapi` and is
// the only file here that is not read by people. To serve a type of another
// package, add the package to the list below.
package openapi

//go:generate go tool openapi-gen --output-dir . --output-pkg github.com/berthproject/berth/apiserver/openapi --output-file zz_generated.openapi.go --go-header-file /dev/null --readonly-pkg k8s.io/api --readonly-pkg k8s.io/metrics --readonly-pkg k8s.io/apimachinery --report-filename /dev/null k8s.io/api/core/v1 k8s.io/api/apps/v1 k8s.io/api/batch/v1 k8s.io/api/policy/v1 k8s.io/api/coordination/v1 k8s.io/api/discovery/v1 k8s.io/api/events/v1 k8s.io/api/storage/v1 k8s.io/api/scheduling/v1 k8s.io/api/scheduling/v1alpha3 k8s.io/api/node/v1 k8s.io/api/rbac/v1 k8s.io/api/resource/v1 k8s.io/api/authentication/v1 k8s.io/api/authorization/v1 k8s.io/api/autoscaling/v1 k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/api/resource k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/util/intstr k8s.io/apimachinery/pkg/version k8s.io/metrics/pkg/apis/metrics/v1beta1 github.com/berthproject/berth/api/v1alpha1
