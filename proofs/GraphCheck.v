(** The check of a graph's certificate, as a function: what `check` in tools/check_certificate.py does with a graph. *)

From Coq Require Import ZArith QArith String List Bool FMapAVL OrderedTypeEx.
From Duotone Require Import Table LineCheck Exponential.
Import ListNotations.
Open Scope Z_scope.

Module Names := FMapAVL.Make String_as_OT.

(** A dataset: its probability of the truth, its colour, the claimed probability of a wrong answer, and who holds it. *)
Record node := { says_truth : Z; is_blue : bool; claimed : Q; from : option string }.

(** What was asked of the boundary: the same everywhere, or a value for each blue boundary dataset. *)
Inductive wanted := Everywhere (b : boundary) | Each (values : Names.t boundary).

Record certificate := {
  nodes : list (string * node);
  edges : list (string * string);
  values : wanted;
  lowered : list (string * list string)
}.

Definition by_name {A} (entries : list (string * A)) : Names.t A :=
  fold_right (fun e m => Names.add (fst e) (snd e) m) (Names.empty A) entries.

(** Who is joined with whom, both ways round. *)
Definition neighbourhood := Names.t (Names.t unit).
Definition join (a b : string) (m : neighbourhood) : neighbourhood :=
  Names.add a (Names.add b tt (match Names.find a m with Some s => s | None => Names.empty unit end)) m.
Definition join_all (edges : list (string * string)) : neighbourhood :=
  fold_right (fun e m => join (fst e) (snd e) (join (snd e) (fst e) m)) (Names.empty _) edges.

(** The largest entry that is private beside [t], by arithmetic: phi rounded down. *)
Definition step_down (one : Z) (y d : Q) (t : Z) : Z :=
  let (yn, yd) := (Qnum y, Zpos (Qden y)) in let (dn, dd) := (Qnum d, Zpos (Qden d)) in
  Z.min one (Z.min ((yn * dd * t + yd * dn * one) / (yd * dd)) (one + yd * (dd * (t - one) + dn * one) / (dd * yn))).

Definition length_of (q : Q) : Z := let q := reduced q in bit_length (Qnum q) + bit_length (Zpos (Qden q)).

(** What is looked up again and again is made once, by [check_graph] at the end: datasets by name, who is joined with whom, the
    fixed datasets, and the paths of lowered values. *)
Section Check.
Variables (one : Z) (may : Z -> Z -> bool) (rise balanced down : Z -> Z) (c : certificate).
Variables (node_of : Names.t node) (beside : neighbourhood).

Definition joined (a b : string) : bool :=
  match Names.find a beside with Some s => Names.mem b s | None => false end.

(** How often a dataset gives the answer of that colour. *)
Definition says (v : node) (blue : bool) : Z := if eqb (is_blue v) blue then says_truth v else one - says_truth v.

Definition edge_private (e : string * string) : bool :=
  match Names.find (fst e) node_of, Names.find (snd e) node_of with
  | Some a, Some b => negb (String.eqb (fst e) (snd e)) && may (says a true) (says b true)
  | _, _ => false
  end.

(** The boundary whose values are fixed: the blue one, or both. *)
Definition both : bool := match values c with Everywhere Balanced => true | _ => false end.
Definition fix_ends (e : string * string) (m : Names.t node) : Names.t node :=
  match Names.find (fst e) node_of, Names.find (snd e) node_of with
  | Some a, Some b =>
      if eqb (is_blue a) (is_blue b) then m
      else let m := if both || is_blue a then Names.add (fst e) a m else m in
           if both || is_blue b then Names.add (snd e) b m else m
  | _, _ => m
  end.
Definition fix_all : Names.t node := fold_right fix_ends (Names.empty node) (edges c).

Variables (fixed : Names.t node) (is_lowered : Names.t (list string)).

Definition value_of (n : string) : option boundary :=
  match values c with Everywhere b => Some b | Each m => Names.find n m end.

(** A path that lowers a value: it begins at a value that is not lowered, goes along edges, and comes to no dataset twice. *)
Fixpoint last_name (a : string) (path : list string) : string := match path with [] => a | b :: path => last_name b path end.
Fixpoint goes (a : string) (path : list string) : bool :=
  match path with [] => true | b :: path => joined a b && goes b path end.
Fixpoint distinct (path : list string) (seen : Names.t unit) : bool :=
  match path with [] => true | a :: path => negb (Names.mem a seen) && distinct path (Names.add a tt seen) end.
Definition held (n : string) : option (option Z) :=
  match Names.find n is_lowered with
  | None => Some None
  | Some (a :: b :: path) =>
      if String.eqb (last_name b path) n && negb (Names.mem a is_lowered) && goes a (b :: path) &&
         distinct (a :: b :: path) (Names.empty unit)
      then match value_of a with
           | Some (Value m) => Some (Some (fold_left (fun t _ => down t) (b :: path) (floor_of one m)))
           | _ => None
           end
      else None
  | Some _ => None
  end.

Definition fixed_top (n : string) (v : node) : option Z :=
  match value_of n, held n with
  | Some b, Some h => fixed_value one may balanced b (says_truth v) h
  | _, _ => None
  end.

(** Bounds on what fixed datasets can say: None where one of them is not what was asked for. *)
Definition fixed_tops : option (Names.t Z) :=
  fold_right (fun e tops => match tops, fixed_top (fst e) (snd e) with
                            | Some m, Some top => Some (Names.add (fst e) top m)
                            | _, _ => None end)
             (Some (Names.empty Z)) (Names.elements fixed).

(** From a dataset along those that hold it to a fixed one, and a bound for each on the way back. *)
Fixpoint climb (fuel : nat) (tops : Names.t Z) (n : string) : option (Names.t Z) :=
  if Names.mem n tops then Some tops else
  match Names.find n node_of, fuel with
  | Some v, S fuel =>
      if says_truth v =? one then Some tops else
      match from v with
      | None => None
      | Some w =>
          match Names.find w node_of with
          | None => None
          | Some u =>
              let same := eqb (is_blue u) (is_blue v) in
              if joined n w && (same || Names.mem w fixed) && tight one may (says_truth v) (says u (is_blue v)) then
                match climb fuel tops w with
                | None => None
                | Some tops =>
                    match (if same then Names.find w tops
                           else match value_of w with Some (Value m) => Some (one - floor_of one m) | _ => None end) with
                    | None => None
                    | Some top => let top := rise top in
                                  if close one top (says_truth v) then Some (Names.add n top tops) else None
                    end
                end
              else None
          end
      end
  | _, _ => None
  end.

Definition check_node (tops : option (Names.t Z)) (e : string * node) : option (Names.t Z) :=
  match tops with
  | None => None
  | Some tops => if honest one (claimed (snd e)) (says_truth (snd e)) &&
                    (0 <=? says_truth (snd e)) && (says_truth (snd e) <=? one)
                 then climb (S (List.length (nodes c))) tops (fst e) else None
  end.

(** Values are given for the fixed datasets and no others, and only given ones are lowered. *)
Definition same_keys {A B} (m : Names.t A) (n : Names.t B) : bool :=
  forallb (fun e => Names.mem (fst e) n) (Names.elements m) && forallb (fun e => Names.mem (fst e) m) (Names.elements n).
Definition is_probability (b : boundary) : bool :=
  match b with Value m => (0 <=? Qnum m) && (Qnum m <=? Zpos (Qden m)) | Balanced => true | Selection => false end.
Definition well_formed : bool :=
  match values c with
  | Each m => same_keys m fixed && forallb (fun e => Names.mem (fst e) fixed) (lowered c)
  | Everywhere b => is_probability b && match lowered c with [] => true | _ => false end
  end.

(** No more work than a short while: numbers of so many bits, so often. *)
Definition value_length (b : boundary) : Z := match b with Value m => length_of m | _ => 0 end.
Definition longest : Z :=
  match values c with
  | Everywhere b => value_length b
  | Each m => fold_left (fun most e => Z.max most (value_length (snd e))) (Names.elements m) 0
  end.
Definition affordable (size : Z) : bool :=
  let work := many (edges c) + many (nodes c) + fold_left (fun n e => n + many (snd e)) (lowered c) 0 in
  (size + longest <=? 2 ^ 14) || ((size + longest) * work <=? 2 ^ 31).

End Check.

(** The check of a graph; [size] is how long numbers come to be. *)
Definition check_nodes (one : Z) (may : Z -> Z -> bool) (rise balanced down : Z -> Z) (size : Z) (c : certificate) : bool :=
  let node_of := by_name (nodes c) in
  let beside := join_all (edges c) in
  let fixed := fix_all c node_of in
  let is_lowered := by_name (lowered c) in
  match nodes c with [] => false | _ => true end && affordable c size &&
  forallb (edge_private one may node_of) (edges c) && well_formed c fixed &&
  match fold_left (check_node one may rise c node_of beside fixed) (nodes c)
                  (fixed_tops one may balanced down c beside fixed is_lowered) with
  | Some _ => true
  | None => false
  end.

Definition size_of (one : Z) (y above d : Q) : Z := bit_length one + length_of y + length_of above + length_of d.

Definition check_graph (one : Z) (y above d : Q) : certificate -> bool :=
  check_nodes one (allowed one y d) (ceiling one above d) (fun _ => balanced_top one above d) (step_down one y d)
              (size_of one y above d).
