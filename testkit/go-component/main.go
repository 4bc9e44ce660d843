// A component package in Go: a box with a lid, which a provider of the host manages, and a module with a state.
package main

import (
	"context"
	"fmt"
	"os"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// BoxArgs are the inputs of a Box.
type BoxArgs struct {
	Size  pulumi.IntInput       `pulumi:"size"`
	Label pulumi.StringPtrInput `pulumi:"label,optional"`
	// Inner has the packages of the box inside this one, of the box inside that one, and so on.
	Inner []string `pulumi:"inner,optional"`
}

// Box is a component with a lid.
type Box struct {
	pulumi.ResourceState
	Doubled pulumi.IntOutput       `pulumi:"doubled"`
	Label   pulumi.StringPtrOutput `pulumi:"label"`
}

type lid struct {
	pulumi.CustomResourceState
}

// NewBox registers a box and its lid.
func NewBox(ctx *pulumi.Context, name string, args BoxArgs, options ...pulumi.ResourceOption) (*Box, error) {
	box := &Box{}
	if err := ctx.RegisterComponentResource(p.GetTypeToken(ctx.Context()), name, box, options...); err != nil {
		return nil, err
	}
	inputs := pulumi.Map{"size": args.Size}
	if args.Label != nil {
		inputs["label"] = args.Label
	}
	err := ctx.RegisterResource("things:index:Thing", name+"-lid", inputs, &lid{}, pulumi.Parent(box))
	if err != nil {
		return nil, err
	}
	size := args.Size.ToIntOutput()
	if len(args.Inner) > 0 {
		inner := &Box{}
		inputs["inner"] = pulumi.ToStringArray(args.Inner[1:])
		remote := args.Inner[0] + ":index:Box"
		if err := ctx.RegisterRemoteComponentResource(remote, name+"-in", inputs, inner, pulumi.Parent(box)); err != nil {
			return nil, err
		}
		size = inner.Doubled
	}
	box.Doubled = size.ApplyT(func(size int) int { return 2 * size }).(pulumi.IntOutput)
	if args.Label != nil {
		box.Label = args.Label.ToStringPtrOutput()
	}
	return box, nil
}

func main() {
	provider, err := infer.NewProviderBuilder().
		WithNamespace("tests").
		WithComponents(infer.ComponentF(NewBox), infer.ComponentF(NewCrate), infer.ComponentF(NewModule)).
		WithComponents(infer.ComponentF(NewMirror)).
		WithComponents(infer.ComponentF(NewGuarded)).
		WithResources(infer.Resource(State{})).
		WithModuleMap(map[tokens.ModuleName]tokens.ModuleName{"main": "index"}).
		Build()
	if err == nil {
		provider.Call = call
		err = provider.Run(context.Background(), "gobox", "0.1.0")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
