//! Plans: the programs, operations and disturbances of one case, as plain data that a failure prints.

use std::fmt;

use stackwright::urn::Urn;
use stackwright_testkit::store::Fault as StoreFault;

/// The number of declarations of a program. Number 0 is a component, number 1 a component that its provider constructs.
pub(crate) const DECLARED: usize = 7;
/// The constructed component.
pub(crate) const KIT: usize = 1;
/// The parts of the constructed component; the second depends on the first. The third is that of the component inside.
pub(crate) const PARTS: [usize; 3] = [DECLARED, DECLARED + 1, DECLARED + 2];
/// The component that the constructed one registers, and that the provider constructs as well.
pub(crate) const INNER: usize = DECLARED + 3;
/// The first of the things that methods of the constructed component register: one for each declaration that calls one.
pub(crate) const OPENED: usize = INNER + 1;
/// The moments of hooks.
pub(crate) const MOMENTS: [&str; 7] = [
    "BeforeCreate",
    "AfterCreate",
    "BeforeUpdate",
    "AfterUpdate",
    "BeforeDelete",
    "AfterDelete",
    "OnError",
];
/// Those before and after steps.
pub(crate) const MOMENTS_OF_STEPS: &[&str] = MOMENTS.split_at(6).0;

/// A program's declaration of one resource.
#[derive(Clone)]
pub(crate) struct Declared {
    pub(crate) present: bool,
    pub(crate) value: u8,
    /// A change of it replaces the resource.
    pub(crate) key: u8,
    /// The numbers that it depends on; later ones do not count.
    pub(crate) depends_on: Vec<usize>,
    /// Whether it uses the ids of its dependencies as an input, instead of depending on them as a whole.
    pub(crate) uses: bool,
    /// The component that is its parent, where that comes before it.
    pub(crate) parent: Option<usize>,
    /// Whether the program uses its other name, with the usual one as an alias.
    pub(crate) renamed: bool,
    /// Whether its aliases are all URNs that it can have had, instead of its other name alone.
    pub(crate) followed: bool,
    pub(crate) deleted_with: Option<usize>,
    pub(crate) delete_first: Option<bool>,
    pub(crate) protect: bool,
    pub(crate) retain: bool,
    /// Whether it adopts a thing that exists already.
    pub(crate) imported: bool,
    /// Whether a transform adds an input.
    pub(crate) transformed: bool,
    /// Whether that transform also sets the value, the aliases and the options, which the registration does not have.
    pub(crate) by_transform: bool,
    /// Whether the program calls a function before it registers the resource.
    pub(crate) asks: bool,
    /// Whether the program calls a method of the constructed component before it registers the resource.
    pub(crate) opens: bool,
    /// The positions in [`MOMENTS`] of its hooks.
    pub(crate) hooks: Vec<usize>,
    /// The seconds that calls about it take.
    pub(crate) pace: u8,
}

/// The declarations of a program.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) declared: Vec<Declared>,
    /// Whether registrations are sequential.
    pub(crate) in_turn: bool,
}

/// What a disturbance is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    Check,
    Diff,
    Create,
    Update,
    Delete,
    Read,
    Construct,
    /// The handshake with the provider, under the number 0, as the three that follow.
    Handshake,
    CheckConfig,
    DiffConfig,
    /// The configuration of the default provider.
    Configure,
    Invoke,
    /// A method of the constructed component.
    Method,
    Hook,
    ErrorHook,
    Transform,
    InvokeTransform,
    Policy,
}

/// How a call is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It changes nothing and fails.
    Fails,
    /// It takes effect, and the initialization fails; for calls that cannot report that, as `Fails`.
    Half,
    /// It takes effect, and no readable answer arrives.
    Unanswered,
    /// It takes effect, and answers much later.
    Late,
    /// It does not return until it is cancelled, and then answers if it has taken effect.
    Hangs { acts: bool },
    /// It does not return until it is given up.
    Deaf { acts: bool },
    /// Its process dies in it: neither it nor any later call of the provider is answered. For functions of the program, as
    /// `Fails`.
    Dies { acts: bool },
}

impl Point {
    /// Returns whether the provider is called.
    pub(crate) const fn is_of_provider(self) -> bool {
        !matches!(
            self,
            Self::Hook | Self::ErrorHook | Self::Transform | Self::InvokeTransform | Self::Policy
        )
    }
}

/// One disturbance: of the first call at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) point: Point,
    pub(crate) number: usize,
    pub(crate) trouble: Trouble,
}

/// How an operation is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    No,
    /// It is cancelled in one of its calls, counted from 1; a second time after a minute.
    Cancel {
        call: usize,
        twice: bool,
    },
    /// The store fails or dies at one of its writes.
    Store(StoreFault),
}

/// What the host asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Update,
    Preview,
    Refresh,
    Destroy,
}

/// What happens to a thing without the engine, before a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drift {
    pub(crate) number: usize,
    /// Whether it disappears; otherwise its value changes.
    pub(crate) vanishes: bool,
}

/// One operation.
#[derive(Clone)]
pub(crate) struct Act {
    pub(crate) verb: Verb,
    /// The program.
    pub(crate) script: usize,
    /// Numbers of the only resources that it is about.
    pub(crate) targets: Vec<usize>,
    pub(crate) excludes: bool,
    pub(crate) dependents: bool,
    pub(crate) refresh: bool,
    pub(crate) runs_program: bool,
    pub(crate) parallel: i32,
    pub(crate) continues: bool,
    pub(crate) ignores_protection: bool,
    pub(crate) replaces: Option<usize>,
    pub(crate) drift: Option<Drift>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) stop: Stop,
}

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) scripts: Vec<Script>,
    pub(crate) acts: Vec<Act>,
}

/// Writes a name, and the members that are set, on one line.
fn write_set(formatter: &mut fmt::Formatter<'_>, name: &str, members: &[(&str, String)]) -> fmt::Result {
    let set = members
        .iter()
        .filter(|(_, value)| !matches!(value.as_str(), "false" | "0" | "None" | "[]" | "No"));
    let set: Vec<String> = set.map(|(name, value)| format!("{name}: {value}")).collect();
    write!(formatter, "{name} {{ {} }}", set.join(", "))
}

macro_rules! write_set {
    ($formatter:expr, $name:literal, $self:ident: $($member:ident)*) => {
        write_set($formatter, $name, &[$((stringify!($member), format!("{:?}", $self.$member))),*])
    };
}

impl fmt::Debug for Declared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_set!(formatter, "Declared", self: present value key depends_on uses parent renamed followed deleted_with
            delete_first protect retain imported transformed by_transform asks opens hooks pace)
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_set!(formatter, "Act", self: verb script targets excludes dependents refresh runs_program parallel
            continues ignores_protection replaces drift faults stop)
    }
}

impl Declared {
    /// Returns whether it has a hook of a moment.
    pub(crate) fn has_hook(&self, moment: &str) -> bool {
        self.hooks.iter().any(|position| MOMENTS[*position] == moment)
    }
}

impl Script {
    /// Returns the parent of a declaration, where the program declares it.
    pub(crate) fn parent(&self, number: usize) -> Option<usize> {
        let parent = self.declared[number].parent?;
        (parent < number && self.declared[parent].present).then_some(parent)
    }

    /// Returns the present dependencies of a declaration.
    pub(crate) fn dependencies(&self, number: usize) -> Vec<usize> {
        let declared = &self.declared[number];
        let mut found = declared.depends_on.clone();
        found.retain(|other| *other < number && self.declared[*other].present);
        found
    }

    /// Returns the present resource with which a declared one is deleted.
    pub(crate) fn host(&self, number: usize) -> Option<usize> {
        let host = self.declared[number].deleted_with?;
        (host < number && self.declared[host].present).then_some(host)
    }

    /// Returns the URN of a declaration under one of its two names.
    pub(crate) fn urn(&self, number: usize, renamed: bool) -> Urn {
        let parent = self
            .parent(number)
            .map(|parent| self.path_of(parent))
            .unwrap_or_default();
        let letter = if renamed { 's' } else { 'r' };
        Urn::new(
            "dev",
            "shop",
            &parent,
            type_of(number),
            &format!("{letter}{number}"),
        )
    }

    /// Returns the URNs under which the program finds the record of a declaration, besides its own.
    pub(crate) fn aliases(&self, number: usize) -> Vec<Urn> {
        let declared = &self.declared[number];
        if !declared.followed {
            return vec![self.urn(number, !declared.renamed)];
        }
        let (first, kit) = (type_of(0), type_of(KIT));
        let places = [
            String::new(),
            first.to_owned(),
            kit.to_owned(),
            format!("{first}${kit}"),
        ];
        let count = match number {
            0 => 1,
            KIT => 2,
            _ => places.len(),
        };
        let names = [format!("r{number}"), format!("s{number}")];
        let urns = places[..count].iter().flat_map(|place| {
            let urn = |name: &String| Urn::new("dev", "shop", place, type_of(number), name);
            names.iter().map(urn)
        });
        let own = self.urn(number, declared.renamed);
        urns.filter(|urn| *urn != own).collect()
    }

    /// Returns whether a transform sets the options of a declaration.
    pub(crate) fn is_set_by_transform(&self, number: usize) -> bool {
        let declared = &self.declared[number];
        number > KIT && declared.transformed && declared.by_transform
    }

    /// Returns the types of a declaration and of its parents, as URNs below it have them.
    fn path_of(&self, number: usize) -> String {
        match self.parent(number) {
            Some(parent) => format!("{}${}", self.path_of(parent), type_of(number)),
            None => type_of(number).to_owned(),
        }
    }

    /// Returns whether the program calls a method of the constructed component for a declaration.
    pub(crate) fn opens(&self, number: usize) -> bool {
        number > KIT && self.declared[number].opens && self.declared[KIT].present
    }

    /// Returns whether the program wants a resource: what the constructed component has, as long as it wants that, and what a method
    /// registers, as long as it calls the method.
    pub(crate) fn wants(&self, number: usize) -> bool {
        match number.checked_sub(OPENED) {
            Some(caller) => self.declared[caller].present && self.opens(caller),
            None if number < DECLARED => self.declared[number].present,
            None => self.declared[KIT].present,
        }
    }

    /// Returns whether the program wants a resource, and knows it by an URN: under another parent it is another resource.
    pub(crate) fn wants_as(&self, number: usize, urn: &Urn) -> bool {
        let is_known = match number {
            OPENED.. => true,
            _ if number < DECLARED => [false, true].map(|name| self.urn(number, name)).contains(urn),
            _ => urn.to_string().contains(&format!("::{}$", self.path_of(KIT))),
        };
        is_known && self.wants(number)
    }

    /// Returns whether the program adopts a thing for a declaration.
    pub(crate) fn imports(&self, number: usize) -> bool {
        let declared = &self.declared[number];
        number > KIT && declared.imported && !declared.uses
    }
}

/// Returns the type of a resource.
pub(crate) fn type_of(number: usize) -> &'static str {
    match number {
        0 => "box:index:Box",
        KIT => "things:index:Kit",
        INNER => "things:index:Case",
        _ => "things:index:Thing",
    }
}

/// Returns the number of a resource from its name.
pub(crate) fn number_of(name: &str) -> Option<usize> {
    match name {
        "part0" => Some(PARTS[0]),
        "part1" => Some(PARTS[1]),
        "part2" => Some(PARTS[2]),
        "inner" => Some(INNER),
        _ if name.starts_with('o') => Some(OPENED + name.strip_prefix('o')?.parse::<usize>().ok()?),
        _ => name.strip_prefix(['r', 's'])?.parse().ok(),
    }
}
