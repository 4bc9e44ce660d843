// This file holds a component with a state resource: its calls hand the recorded state to Construct, and wait for the new one.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
)

// meeting is where a call on the state of a component hands the recorded state to Construct, and Construct leaves the new one.
type meeting struct {
	// asked is closed when old is set, and made when new is; new is nil where Construct fails.
	asked, made chan struct{}
	ask         sync.Once
	old, new    *Kept
}

// meetings are the last ones of the modules, by name: an update may begin after the end of Construct.
var meetings sync.Map

// errNoState is the failure of a call whose Construct has failed.
var errNoState = errors.New("no new state has been made")

// meet hands the recorded state to the Construct that is in flight, and returns the new state. It is nil where no Construct has
// made one, and for the method in MODULE_SKIPS, which does not wait.
// Where MODULE_LOG names a file, a call that has waited adds a line to it: the method and the module.
func meet(ctx context.Context, method, module string, recorded *Kept) (*Kept, error) {
	found, ok := meetings.Load(module)
	if !ok || method == os.Getenv("MODULE_SKIPS") {
		return nil, nil
	}
	here := found.(*meeting)
	select {
	case <-here.made:
		return here.new, nil
	default:
	}
	here.ask.Do(func() {
		here.old = recorded
		close(here.asked)
	})
	select {
	case <-here.made:
		return here.new, note("MODULE_LOG", method+" "+module)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// note adds a line in one write to the log that an environment variable names; without it, there is no log.
func note(variable, line string) error {
	log := os.Getenv(variable)
	if log == "" {
		return nil
	}
	file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteString(line + "\n")
	return err
}

// State is the state resource.
type State struct{}

// StateArgs are its inputs.
type StateArgs struct {
	Module string `pulumi:"module"`
}

// Kept are its outputs: the sizes that the module has had, and the URNs of the two things that its Construct has registered.
type Kept struct {
	Module string    `pulumi:"module"`
	Sizes  []float64 `pulumi:"sizes"`
	Made   []string  `pulumi:"made"`
}

func (State) Create(ctx context.Context, req infer.CreateRequest[StateArgs]) (infer.CreateResponse[Kept], error) {
	made, err := meet(ctx, "create", req.Inputs.Module, nil)
	if err == nil && made == nil {
		err = errNoState
	}
	if err != nil {
		return infer.CreateResponse[Kept]{}, err
	}
	return infer.CreateResponse[Kept]{ID: "state", Output: *made}, nil
}

// Diff compares the recorded state with the new one. One that does not wait expects changes.
func (State) Diff(ctx context.Context, req infer.DiffRequest[StateArgs, Kept]) (infer.DiffResponse, error) {
	made, err := meet(ctx, "diff", req.Inputs.Module, &req.State)
	changes := os.Getenv("MODULE_SKIPS") == "diff" || (made != nil && !reflect.DeepEqual(*made, req.State))
	return infer.DiffResponse{HasChanges: changes}, err
}

func (State) Update(ctx context.Context, req infer.UpdateRequest[StateArgs, Kept]) (infer.UpdateResponse[Kept], error) {
	made, err := meet(ctx, "update", req.Inputs.Module, &req.State)
	if err == nil && made == nil {
		err = errNoState
	}
	if err != nil {
		return infer.UpdateResponse[Kept]{}, err
	}
	return infer.UpdateResponse[Kept]{Output: *made}, nil
}

// Read returns the recorded state.
func (State) Read(
	ctx context.Context, req infer.ReadRequest[StateArgs, Kept],
) (infer.ReadResponse[StateArgs, Kept], error) {
	_, err := meet(ctx, "read", req.Inputs.Module, &req.State)
	return infer.ReadResponse[StateArgs, Kept]{ID: req.ID, Inputs: req.Inputs, State: req.State}, err
}

// ModuleArgs are the inputs of a Module.
type ModuleArgs struct {
	Size  float64  `pulumi:"size"`
	Inner []string `pulumi:"inner,optional"`
}

// Module is a component with a state, two things, and a component of the first package of the inner ones.
type Module struct {
	pulumi.ResourceState
	Made pulumi.IntOutput `pulumi:"made"`
	// Saw is the recorded state that Construct was given: empty for one that is created.
	Saw pulumi.MapOutput `pulumi:"saw"`
}

type plainResource struct {
	pulumi.CustomResourceState
}

// NewModule registers a module and what is below it.
func NewModule(ctx *pulumi.Context, name string, args ModuleArgs, options ...pulumi.ResourceOption) (*Module, error) {
	module := &Module{}
	if err := ctx.RegisterComponentResource(p.GetTypeToken(ctx.Context()), name, module, options...); err != nil {
		return nil, err
	}
	here := &meeting{asked: make(chan struct{}), made: make(chan struct{})}
	meetings.Store(name, here)
	defer close(here.made)
	if err := registerInside(ctx, name, args, pulumi.Parent(module)); err != nil {
		return nil, err
	}
	select {
	case <-here.asked:
	case <-ctx.Context().Done():
		return nil, ctx.Context().Err()
	}
	made, err := registerThings(ctx, name, args, pulumi.Parent(module))
	if err != nil {
		return nil, err
	}
	here.new = &Kept{Module: name, Made: made}
	saw := pulumi.Map{}
	if old := here.old; old != nil {
		here.new.Sizes = slices.Clone(old.Sizes)
		saw["module"], saw["made"] = pulumi.String(old.Module), pulumi.ToStringArray(old.Made)
		saw["sizes"] = pulumi.ToFloat64Array(old.Sizes)
	}
	if had := here.new.Sizes; len(had) == 0 || had[len(had)-1] != args.Size {
		here.new.Sizes = append(had, args.Size)
	}
	module.Made, module.Saw = pulumi.Int(len(made)).ToIntOutput(), saw.ToMapOutput()
	return module, nil
}

// registerInside registers the state and the inner module.
func registerInside(ctx *pulumi.Context, name string, args ModuleArgs, below pulumi.ResourceOption) error {
	inputs := pulumi.Map{"module": pulumi.String(name)}
	err := ctx.RegisterResource("gobox:index:State", name+"-state", inputs, &plainResource{}, below)
	if err != nil || len(args.Inner) == 0 {
		return err
	}
	inputs = pulumi.Map{"size": pulumi.Float64(args.Size), "inner": pulumi.ToStringArray(args.Inner[1:])}
	return ctx.RegisterRemoteComponentResource(args.Inner[0]+":index:Module", name+"-in", inputs, &Module{}, below)
}

// registerThings registers two things, waits until they are there, and returns their URNs.
func registerThings(ctx *pulumi.Context, name string, args ModuleArgs, below pulumi.ResourceOption) ([]string, error) {
	things := make([]*plainResource, 2)
	for number := range things {
		things[number] = &plainResource{}
		inputs := pulumi.Map{"size": pulumi.Float64(args.Size)}
		own := fmt.Sprintf("%s-%d", name, number)
		if err := ctx.RegisterResource("things:index:Thing", own, inputs, things[number], below); err != nil {
			return nil, err
		}
	}
	made := []string{}
	for _, thing := range things {
		known, err := internals.UnsafeAwaitOutput(ctx.Context(), thing.URN())
		if err != nil {
			return nil, err
		}
		made = append(made, string(known.Value.(pulumi.URN)))
	}
	return made, nil
}
