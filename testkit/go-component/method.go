// This file holds the method of boxes, which registers what it opens below its box.
package main

import (
	"context"
	"fmt"

	"github.com/blang/semver"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
)

// boxes makes boxes of references to them.
type boxes struct{}

func (boxes) Version() semver.Version { return semver.Version{} }

func (boxes) Construct(ctx *pulumi.Context, name, _, urn string) (pulumi.Resource, error) {
	box := &Box{}
	return box, ctx.RegisterResource("gobox:index:Box", name, nil, box, pulumi.URN_(urn))
}

func init() {
	pulumi.RegisterResourceModule("gobox", "index", boxes{})
}

// call runs a method.
func call(ctx context.Context, request p.CallRequest) (p.CallResponse, error) {
	return p.ProgramCall(ctx, request, open)
}

// open registers what a box opens with. It fails without the argument `by`, for several properties, and with its value "raise".
func open(ctx *pulumi.Context, token string, arguments sdk.CallArgs) (*sdk.CallResult, error) {
	if token != "gobox:index:Box/open" {
		return nil, fmt.Errorf("there is no method %s", token)
	}
	given, err := arguments.Map()
	if err != nil {
		return nil, err
	}
	by, ok := given["by"]
	if !ok {
		failures := []sdk.CallFailure{{Property: "by", Reason: "is missing"}, {Property: "lock[0]", Reason: "is stuck"}}
		return &sdk.CallResult{Return: pulumi.Map{}, Failures: failures}, nil
	}
	if _, raises := given["raise"]; raises {
		return nil, fmt.Errorf("no such key")
	}
	box, err := arguments.Self()
	if err != nil {
		return nil, err
	}
	opened := &plainResource{}
	err = ctx.RegisterResource("things:index:Thing", "opened", pulumi.Map{"size": by}, opened, pulumi.Parent(box))
	if err != nil {
		return nil, err
	}
	return &sdk.CallResult{Return: pulumi.Map{"by": by, "box": box.URN(), "id": opened.ID()}}, nil
}
