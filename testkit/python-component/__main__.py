"""Hosts the component package `pybox`."""

from box import Box
from crate import Crate
from guarded import Guarded
from mirror import Mirror
from pulumi.provider.experimental import component_provider_host

if __name__ == "__main__":
    component_provider_host(name="pybox", components=[Box, Crate, Guarded, Mirror])
