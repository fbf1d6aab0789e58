// Package openapi contains the OpenAPI definitions of all served types. Server-side apply, explain and
// field validation need them, so a kind without a definition cannot be served.
//
// `go generate ./apiserver/openapi` creates zz_generated.openapi.go. To serve a type of another
// package, add the package to the list below.
package openapi

//go:generate go tool openapi-gen --output-dir . --output-pkg github.com/berthproject/berth/apiserver/openapi --output-file zz_generated.openapi.go --go-header-file /dev/null --readonly-pkg k8s.io/api --readonly-pkg k8s.io/metrics --readonly-pkg k8s.io/apimachinery --report-filename /dev/null k8s.io/api/core/v1 k8s.io/api/apps/v1 k8s.io/api/batch/v1 k8s.io/api/policy/v1 k8s.io/api/coordination/v1 k8s.io/api/discovery/v1 k8s.io/api/events/v1 k8s.io/api/storage/v1 k8s.io/api/scheduling/v1 k8s.io/api/scheduling/v1alpha3 k8s.io/api/node/v1 k8s.io/api/rbac/v1 k8s.io/api/resource/v1 k8s.io/api/authentication/v1 k8s.io/api/authorization/v1 k8s.io/api/autoscaling/v1 k8s.io/api/autoscaling/v2 k8s.io/api/networking/v1 k8s.io/api/certificates/v1 k8s.io/api/flowcontrol/v1 k8s.io/api/admissionregistration/v1 k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/api/resource k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/util/intstr k8s.io/apimachinery/pkg/version k8s.io/metrics/pkg/apis/metrics/v1beta1 github.com/berthproject/berth/api/v1alpha1
