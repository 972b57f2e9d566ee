(** The check of a line's certificate, as a function on integers: what `check` of tools/check_certificate.py does. *)

From Coq Require Import ZArith QArith Qabs List Bool.
From Duotone Require Import Table.
Import ListNotations.
Open Scope Z_scope.

(** What was asked of the boundary: the best balanced value, one value, or that an empty group is never shown. *)
Inductive boundary := Balanced | Value (m : Q) | Selection.

(** What rounding may cost is 1 / LOSS; a claimed error is right to 1 / 2^50 of itself and 1 / SMALLEST (RELATIVE is their
    quotient). *)
Definition LOSS := 2 ^ 60.
Definition SMALLEST := 2 ^ 1070.
Definition RELATIVE := 2 ^ 1020.

Section Check.
(** ONE; the ratio, which is e^eps rounded down; a bound on it from above; delta. *)
Variables (one : Z) (y above d : Q).

(** Rounding costs less than 2^-60. *)
Definition close (top t : Z) : bool := top - t <? one / LOSS.

(** The claimed probability of a wrong answer is that of the table, to 50 bits. *)
Definition honest (claimed : Q) (t : Z) : bool :=
  Z.abs (Qnum claimed * one - (one - t) * Zpos (Qden claimed)) * SMALLEST <=?
  Zpos (Qden claimed) * ((one - t) * RELATIVE + one).

(** The largest balanced value, rounded up: (above + d) / (1 + above). *)
Definition balanced_top : Z :=
  up ((Qnum above * Zpos (Qden d) + Qnum d * Zpos (Qden above)) * one) (Zpos (Qden d) * (Zpos (Qden above) + Qnum above)).

Definition best_balanced (t : Z) : bool :=
  allowed one y d t (one - t) && ((t =? one) || negb (allowed one y d (t + 1) (one - t - 1))).

Definition floor_of (m : Q) : Z := Qnum m * one / Zpos (Qden m).
Definition ceiling_of (m : Q) : Z := up (Qnum m * one) (Zpos (Qden m)).

(** A boundary entry is the value asked for, rounded down or [held] lower; gives a bound on the real one. *)
Definition fixed_value (b : boundary) (t : Z) (held : option Z) : option Z :=
  match b with
  | Balanced => if best_balanced t && close balanced_top t then Some balanced_top else None
  | Value m => if (0 <=? Qnum m) && (Qnum m <=? Zpos (Qden m)) && close (ceiling_of m) t &&
                  match held with None => t =? floor_of m | Some h => (t =? h) && (h <=? floor_of m) end
               then Some (ceiling_of m) else None
  | Selection => None
  end.

(** From the boundary outwards: each entry is private beside the one before and as large as that allows, and near [top]. *)
Fixpoint side (here : Z) (rest : list Z) (top : Z) : bool :=
  close top here &&
  match rest with
  | [] => tight one y d here here && close (if ceiling one above d top =? top then top else one) here
  | beyond :: rest => tight one y d beyond here && side beyond rest (ceiling one above d top)
  end.

Fixpoint all_honest (claimed : list Q) (entries : list Z) : bool :=
  match claimed, entries with
  | [], [] => true
  | c :: claimed, t :: entries => honest c t && all_honest claimed entries
  | _, _ => false
  end.

Definition in_range (entries : list Z) : bool := forallb (fun t => (0 <=? t) && (t <=? one)) entries.

(** Bounds on the two boundary values of every private mechanism with what was asked; None where the entries are not these. *)
Definition tops (b : boundary) (blue red : Z) : option (Z * Z) :=
  match b with
  | Selection => if (red =? one) && tight one y d blue 0 then Some (ceiling one above d 0, one) else None
  | Balanced => if red =? blue then option_map (fun top => (top, top)) (fixed_value b blue None) else None
  | Value _ => if tight one y d red (one - blue)
               then option_map (fun top => (top, ceiling one above d (one - blue))) (fixed_value b blue None) else None
  end.

Definition check_line (b : boundary) (blue red : list Z) (blue_error red_error : list Q) : bool :=
  match blue, red with
  | b0 :: blues, r0 :: reds =>
      in_range blue && in_range red && allowed one y d b0 (one - r0) &&
      all_honest blue_error blue && all_honest red_error red &&
      match tops b b0 r0 with
      | Some (blue_top, red_top) => side b0 blues blue_top && side r0 reds red_top
      | None => false
      end
  | _, _ => false
  end.

End Check.
