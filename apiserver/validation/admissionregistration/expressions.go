package admissionregistration

import (
	"sync"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const maxMatchConditions = 64

// baseEnvironment returns the CEL environment. The first call builds it, which is expensive.
var baseEnvironment = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// compiler compiles the expressions of one object.
type compiler struct {
	// accepted are expressions of the stored object. They may use functions that were available
	// when it was created.
	accepted sets.Set[string]
	declared cel.OptionalVariableDeclarations
	// composed also has the variables of a policy. It is nil for webhooks.
	composed *cel.CompositedCompiler
}

func newCompiler(accepted sets.Set[string]) compiler {
	return compiler{accepted: accepted, declared: cel.OptionalVariableDeclarations{HasAuthorizer: true}}
}

// withVariables returns a compiler for the expressions of a policy.
func (c compiler) withVariables(params *v1.ParamKind) (compiler, error) {
	var err error
	c.declared.HasParams = params != nil
	c.composed, err = cel.NewCompositedCompiler(baseEnvironment())
	return c, err
}

// mode returns the environment in which an expression is compiled.
func (c compiler) mode(expression string) environment.Type {
	if c.accepted.Has(expression) {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// check compiles an expression. It reports an empty one as missing.
func (c compiler) check(expression cel.ExpressionAccessor, path *field.Path) field.ErrorList {
	text := expression.GetExpression()
	if text == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var compile cel.Compiler = c.composed
	if c.composed == nil {
		compile = cel.NewCompiler(baseEnvironment())
	}
	if result := compile.CompileCELExpression(expression, c.declared, c.mode(text)); result.Error != nil {
		return field.ErrorList{field.Invalid(path, text, result.Error.Detail)}
	}
	return nil
}

// addVariable compiles a variable and makes it available to the expressions after it.
func (c compiler) addVariable(v *v1.Variable, path *field.Path) field.ErrorList {
	if v.Expression == "" {
		return field.ErrorList{field.Required(path, "expression is not specified")}
	}
	result := c.composed.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, c.declared, c.mode(v.Expression))
	if result.Error != nil {
		return field.ErrorList{field.Invalid(path, v.Expression, result.Error.Detail)}
	}
	return nil
}

// validateMatchConditions validates conditions: unique qualified names and expressions that compile.
func validateMatchConditions(list []v1.MatchCondition, c compiler, path *field.Path) field.ErrorList {
	if len(list) > maxMatchConditions {
		return field.ErrorList{field.TooMany(path, len(list), maxMatchConditions)}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range list {
		itemPath := path.Index(i)
		errs = append(errs, c.check((*matchconditions.MatchCondition)(&list[i]), itemPath.Child("expression"))...)
		switch name := list[i].Name; {
		case name == "":
			errs = append(errs, field.Required(itemPath.Child("name"), ""))
		case names.Has(name):
			errs = append(errs, field.Duplicate(itemPath.Child("name"), name))
		default:
			errs = append(errs, checks.QualifiedName(name, itemPath.Child("name"))...)
		}
		names.Insert(list[i].Name)
	}
	return errs
}
