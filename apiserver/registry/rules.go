package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/kinds"
)

// Rules are the rules of writes of a kind, for a store that is not a Store of this package. Package rest of
// k8s.io/apiserver applies them (BeforeCreate, BeforeUpdate).
type Rules struct {
	Create interface {
		rest.RESTCreateStrategy
		rest.RESTUpdateStrategy
	}
	// Status are the rules of the status subresource.
	Status rest.RESTUpdateStrategy
}

// RulesOf returns the rules of a kind.
func RulesOf(kind kinds.Kind, typer runtime.ObjectTyper) Rules {
	s := newStrategy(kind, typer, false)
	return Rules{Create: s, Status: updateStrategy{s, statusUpdate(kind)}}
}
