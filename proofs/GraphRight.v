(** What exactly [check_graph] accepts: a mechanism that is private with the file's ratio, the boundary values that were asked
    for, and for every other dataset a chain of witnesses that ends at one of these, of steps rounded down; along which the same
    steps with a ratio above e^eps, rounded up, stay within 2^-60. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz String List Bool.
From Duotone Require Import Step Graph Table LineCheck LineCertificate GraphCheck GraphCertificate Balanced Rounding.
Import ListNotations.
Open Scope R_scope.

Section Right.
Variables (one : Z) (P A : privacy) (c : certificate).
Notation down := (rounded_down one).
Notation up := (rounded_up one).
Notation part := (part one).
Let near_in (a b : string) := @near (graph_of c) a b.

(** ** What is accepted *)

(** The path of a lowered value. *)
Definition path_to n := Names.find n (by_name (lowered c)).

(** From dataset [a] with entry [s] along edges to [n] with entry [t], each the step beside the one before, rounded down. *)
Inductive along : string -> list string -> string -> Z -> Z -> Prop :=
| stays a s : along a [] a s s
| goes_on a b path n s s' t : near_in a b -> down (step P (part s)) s' -> along b path n s' t -> along a (b :: path) n s t.

(** What a lowered dataset is held at: it is beside a value that is not lowered, along a path that comes to no dataset twice. *)
Definition lowered_to n (held : option Z) :=
  match path_to n with
  | None => held = None
  | Some path => exists a b rest m s t, path = a :: b :: rest /\ NoDup path /\ path_to a = None /\
                 value_of c a = Some (Value m) /\ down (Q2R m) s /\ along a (b :: rest) n s t /\ held = Some t
  end.

(** A boundary entry is the value asked for, rounded down, or lowered a little; [top] is that value rounded up. *)
Definition fixed_right n (t top : Z) := exists b held, value_of c n = Some b /\ lowered_to n held /\
  match b with
  | Balanced => down (balance P) t /\ up (balance A) top
  | Value m => probability (Q2R m) /\ match held with None => down (Q2R m) t | Some h => t = h /\ part h <= Q2R m end /\
               up (Q2R m) top
  | Selection => False
  end /\ part top < part t + / 2 ^ 60.

(** An entry that is the step beside its witness, rounded down, and no less than [top] by 2^-60 or more. *)
Definition leans n (v : node) w (u : node) (top : Z) := known c n = Some v /\ known c w = Some u /\
  ~ is_fixed c n /\ says_truth v <> one /\ from v = Some w /\ near_in n w /\
  down (step P (part (says one u (is_blue v)))) (says_truth v) /\ part top < part (says_truth v) + / 2 ^ 60.

(** [held k n top]: after k witnesses of one colour comes a fixed dataset, or one that leans on a fixed one of the other colour;
    nobody has more than [top] at [n]. *)
Inductive held : nat -> string -> Z -> Prop :=
| held_fixed n v top : known c n = Some v -> is_fixed c n -> fixed_right n (says_truth v) top -> held 0 n top
| held_across n v w u m s top : leans n v w u top -> is_blue u <> is_blue v -> is_fixed c w ->
    value_of c w = Some (Value m) -> down (Q2R m) s -> up (step A (1 - part s)) top -> held 0 n top
| held_within k n v w u below top : leans n v w u top -> is_blue u = is_blue v -> held k w below ->
    up (step A (part below)) top -> held (S k) n top.

(** Values are given for the fixed datasets, and for no others; so are those that are lowered. *)
Definition values_right :=
  match values c with
  | Everywhere b => (b = Balanced \/ exists m, b = Value m /\ probability (Q2R m)) /\ lowered c = []
  | Each m => (forall n, Names.find n m <> None <-> is_fixed c n) /\ forall e, In e (lowered c) -> is_fixed c (fst e)
  end.

Definition graph_right :=
  nodes c <> [] /\
  (forall e, In e (nodes c) -> (0 <= says_truth (snd e) <= one)%Z /\ honest_claim one (claimed (snd e)) (says_truth (snd e))) /\
  (forall a b, In (a, b) (edges c) -> a <> b /\ known c a <> None /\ known c b <> None) /\
  private P (table_of one c) /\ values_right /\
  (forall n v, known c n = Some v -> is_fixed c n -> exists top, fixed_right n (says_truth v) top) /\
  forall n v, known c n = Some v -> says_truth v = one \/ exists k top, held k n top.

End Right.
