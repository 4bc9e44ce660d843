// This file holds a component with a state resource, whose calls wait for what Construct registers, and Construct for them.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// meeting is where the calls on the state of one component in Construct wait.
type meeting struct {
	asked, made chan struct{}
	ask         sync.Once
}

// meetings are those of the components in Construct, by name.
var meetings sync.Map

// meet waits until the Construct that is in flight has made its things; without one, there is nothing to wait for.
// Where MODULE_LOG names a file, a call that has waited adds a line to it: the method and the module. The method in
// MODULE_SKIPS does not wait.
func meet(ctx context.Context, method, module string) error {
	found, ok := meetings.Load(module)
	if !ok || method == os.Getenv("MODULE_SKIPS") {
		return nil
	}
	here := found.(*meeting)
	select {
	case <-here.made:
		return nil
	default:
	}
	here.ask.Do(func() { close(here.asked) })
	select {
	case <-here.made:
		return note("MODULE_LOG", method+" "+module)
	case <-ctx.Done():
		return ctx.Err()
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

// StateArgs are its inputs and its outputs.
type StateArgs struct {
	Size   float64 `pulumi:"size"`
	Module string  `pulumi:"module"`
}

func (State) Create(ctx context.Context, req infer.CreateRequest[StateArgs]) (infer.CreateResponse[StateArgs], error) {
	err := meet(ctx, "create", req.Inputs.Module)
	return infer.CreateResponse[StateArgs]{ID: "state", Output: req.Inputs}, err
}

func (State) Diff(ctx context.Context, req infer.DiffRequest[StateArgs, StateArgs]) (infer.DiffResponse, error) {
	err := meet(ctx, "diff", req.Inputs.Module)
	return infer.DiffResponse{HasChanges: req.Inputs != req.State}, err
}

func (State) Update(
	ctx context.Context, req infer.UpdateRequest[StateArgs, StateArgs],
) (infer.UpdateResponse[StateArgs], error) {
	err := meet(ctx, "update", req.Inputs.Module)
	return infer.UpdateResponse[StateArgs]{Output: req.Inputs}, err
}

func (State) Read(
	ctx context.Context, req infer.ReadRequest[StateArgs, StateArgs],
) (infer.ReadResponse[StateArgs, StateArgs], error) {
	err := meet(ctx, "read", req.Inputs.Module)
	return infer.ReadResponse[StateArgs, StateArgs]{ID: req.ID, Inputs: req.Inputs, State: req.State}, err
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
	defer func() {
		close(here.made)
		meetings.Delete(name)
	}()
	if err := registerInside(ctx, name, args, pulumi.Parent(module)); err != nil {
		return nil, err
	}
	select {
	case <-here.asked:
	case <-ctx.Context().Done():
		return nil, ctx.Context().Err()
	}
	made, err := registerThings(ctx, name, args, pulumi.Parent(module))
	module.Made = pulumi.Int(made).ToIntOutput()
	return module, err
}

// registerInside registers the state and the inner module.
func registerInside(ctx *pulumi.Context, name string, args ModuleArgs, below pulumi.ResourceOption) error {
	inputs := pulumi.Map{"size": pulumi.Float64(args.Size), "module": pulumi.String(name)}
	err := ctx.RegisterResource("gobox:index:State", name+"-state", inputs, &plainResource{}, below)
	if err != nil || len(args.Inner) == 0 {
		return err
	}
	inputs = pulumi.Map{"size": pulumi.Float64(args.Size), "inner": pulumi.ToStringArray(args.Inner[1:])}
	return ctx.RegisterRemoteComponentResource(args.Inner[0]+":index:Module", name+"-in", inputs, &Module{}, below)
}

// registerThings registers two things and waits until they are there.
func registerThings(ctx *pulumi.Context, name string, args ModuleArgs, below pulumi.ResourceOption) (int, error) {
	known := make(chan struct{}, 2)
	for number := range 2 {
		thing, inputs := &plainResource{}, pulumi.Map{"size": pulumi.Float64(args.Size)}
		err := ctx.RegisterResource("things:index:Thing", fmt.Sprintf("%s-%d", name, number), inputs, thing, below)
		if err != nil {
			return 0, err
		}
		thing.URN().ApplyT(func(pulumi.URN) bool {
			known <- struct{}{}
			return true
		})
	}
	for range 2 {
		select {
		case <-known:
		case <-ctx.Context().Done():
			return 0, ctx.Context().Err()
		}
	}
	return 2, nil
}
